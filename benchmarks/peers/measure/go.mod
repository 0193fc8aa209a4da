module blockmill/measure

go 1.25
