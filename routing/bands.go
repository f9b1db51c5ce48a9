package routing

import "fmt"

// Band is how many workers a task is worth.
type Band struct {
	Name     string // simple, medium or complex
	Min, Max int    // workers
}

// BandOf returns the band of a complexity of 0 to 1: below 0.4 simple, 3 to 5 workers;
// below 0.7 medium, 6 to 10; else complex, 11 to 17. Anything else is an
// error.
func BandOf(complexity float64) (Band, error) {
	switch {
	case !(complexity >= 0 && complexity <= 1): // NaN is refused, too
		return Band{}, fmt.Errorf("routing: complexity is %v, want 0 to 1", complexity)
	case complexity < 0.4:
		return Band{"simple", 3, 5}, nil
	case complexity < 0.7:
		return Band{"medium", 6, 10}, nil
	default:
		return Band{"complex", 11, 17}, nil
	}
}
