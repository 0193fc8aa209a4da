module blockmill/geth-headers/driver

go 1.25

require github.com/golang/snappy v0.0.1

require blockmill/measure v0.0.0

replace blockmill/measure => ../../measure
