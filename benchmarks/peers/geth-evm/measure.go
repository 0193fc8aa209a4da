package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"blockmill/measure"
)

// took is how long a program took: the median of its runs, and the longest, in nanoseconds.
type took struct{ median, worst float64 }

// runAll runs every program, once to warm up and then for the samples.
func runAll(o options) (measure.Line, error) {
	p, err := readPlan(o.Plan)
	if err != nil {
		return measure.Line{}, err
	}
	m, err := newMachine(o.Genesis)
	if err != nil {
		return measure.Line{}, err
	}
	all := make([]took, len(p.Programs))
	for i := range p.Programs {
		if i%64 == 0 {
			// not in the midst of a program, as far as that can be helped
			runtime.GC()
		}
		if all[i], err = m.sample(&p.Programs[i], o.Samples); err != nil {
			return measure.Line{}, fmt.Errorf("%s: %w", p.nameOf(i), err)
		}
	}
	return lineOf(p, all), nil
}

// nameOf is the name of the first operation that a program is for.
func (p *plan) nameOf(program int) string {
	for _, o := range p.Operations {
		if o.Program == program || o.Baseline != nil && *o.Baseline == program {
			return fmt.Sprintf("program %d, of %s", program, o.Name)
		}
	}
	return fmt.Sprintf("program %d", program)
}

func (m *machine) sample(p *program, samples int) (took, error) {
	times := make([]float64, 0, samples)
	for i := 0; i <= samples; i++ {
		one, err := m.run(p)
		if err != nil {
			return took{}, err
		}
		if i > 0 {
			times = append(times, float64(one.Nanoseconds()))
		}
	}
	slices.Sort(times)
	return took{times[len(times)/2], times[len(times)-1]}, nil
}

// lineOf computes the facts as blockmill's own runs do.
func lineOf(p *plan, all []took) measure.Line {
	facts := map[string]float64{"programs": float64(len(all))}
	mgas := func(gas, ns float64) float64 {
		if ns <= 0 {
			return 0
		}
		return gas / ns * 1e3
	}
	gas, time := 0.0, 0.0
	for _, o := range p.Operations {
		whole := float64(p.Programs[o.Program].GasUsed)
		gas += whole
		time += all[o.Program].median
		ns := o.time(func(i int) float64 { return all[i].median })
		facts[o.Name+".mgas_per_s"] = mgas(o.Gas, ns)
		if o.Baseline == nil {
			continue
		}
		facts[o.Name+".time_ns"] = ns
		facts[o.Name+".worst_ns"] = o.time(func(i int) float64 {
			if i == o.Program {
				return all[i].worst
			}
			return all[i].median
		})
		facts[o.Name+".gas"] = o.Gas
		facts[o.Name+".program_mgas_per_s"] = mgas(whole, all[o.Program].median)
	}
	facts["mgas_per_s"] = mgas(gas, time)
	used := uint64(0)
	for _, one := range p.Programs {
		used += one.GasUsed
	}
	answer := map[string]string{
		"gas_used":   strconv.FormatUint(used, 10),
		"operations": strconv.Itoa(len(p.Operations)),
	}
	return measure.Line{Version: version(), Facts: facts, Answer: answer}
}
