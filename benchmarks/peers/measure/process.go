package measure

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// Lap returns the seconds since t and sets it to now.
func Lap(t *time.Time) float64 {
	now := time.Now()
	seconds := now.Sub(*t).Seconds()
	*t = now
	return seconds
}

// CPUSeconds is the user and the system time of this process so far.
func CPUSeconds() (user, sys float64) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	return float64(r.Utime.Nano()) / 1e9, float64(r.Stime.Nano()) / 1e9
}

// FreeMemory returns the memory of the setup to the system.
func FreeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// ResetPeakRSS makes PeakRSS count from here. Without support of the kernel, PeakRSS remains the
// peak of the whole process.
func ResetPeakRSS() {
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// PeakRSS is the largest resident size of this process in bytes, 0 if the kernel does not report
// it. It is VmHWM because the maximum of getrusage starts at the size of the parent at the fork.
func PeakRSS() float64 { return peakRSS("self") }

// PeakRSSOf is the largest resident size of another process.
func PeakRSSOf(pid int) float64 { return peakRSS(fmt.Sprint(pid)) }

func peakRSS(process string) float64 {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return float64(kib << 10)
		}
	}
	return 0
}
