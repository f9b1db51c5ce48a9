package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFacets(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"RA33 article", articleQuality(share{5, 6}, share{2000, 2000}, 3), 0.944444},
		{"R75 an article that is too long counts as one that is not", articleQuality(share{6, 6}, share{9000, 2000}, 3), 1},
		{"RA34 sources", sourceQuality(share{15, 10}, share{3, 4}, share{14, 15}), 0.894444},
		{"RA35 facts", factualQuality(42, 0, 45), 0.933333},
		{"RA35 no claims", factualQuality(0, 0, 0), 0},
		{"R75 contradictions", factualQuality(3, 4, 10), 0},
		{"RA36 writing", writingQuality(0.90, 0.85, 1.00), 0.916667},
		{"R75 writing out of range", writingQuality(math.NaN(), 2, -1), 0.333333},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.InDelta(t, tt.want, tt.got, 0) })
	}
}
