package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEffective(t *testing.T) {
	tests := []struct {
		name         string
		graded, self *float64
		want         float64
		defaulted    bool
	}{
		{"HA18 nothing reported", nil, nil, 75, true},
		{"HA18 a real 0 stays", new(0.0), nil, 0, false},
		{"HA18 own figure", nil, new(55.0), 55, false},
		{"HC5 graded beats the own figure", new(40.0), new(95.0), 40, false},
		{"HC5 graded 0 beats the own figure", new(0.0), new(95.0), 0, false},
		{"HC5 own 0 stays", nil, new(0.0), 0, false},
		{"H56 default", nil, nil, 75, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, defaulted := effective(tt.graded, tt.self)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.defaulted, defaulted)
		})
	}
}
