package answer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/answer"
)

func TestFigure(t *testing.T) {
	for _, tt := range []struct {
		words string
		most  float64
		want  string // "": it is none
	}{
		{"7/10", 10, "7"},
		{" 7.5 / 10 ", 10, "7.5"},
		{"70 %", 10, "7"},
		{"70%", 1, "0.7"},
		{"12.5 %", 100, "12.5"},
		{"0/10", 10, "0"},
		{"7/10.0", 10, "7"},
		{"11/10", 10, "11"},    // the scale is checked elsewhere
		{"150 %", 100, "150"},  // the same
		{"0.1/1", 1, "0.1"},    // no 0.1000000000000000055
		{"33 %", 0.3, "0.099"}, // exact
		{"\t7\n/\n10", 10, "7"},
		{"100 %", 10, "10"},
		{"0 %", 10, "0"},
		{"2.5/2.5", 2.5, "2.5"},
		{"50 %", 1e-45, "0." + strings.Repeat("0", 45) + "5"},
		{"7/100", 10, ""},
		{"1e1/10", 10, ""},
		{"seven/10", 10, ""},
		{"7 / ten", 10, ""},
		{"7,5/10", 10, ""},
		{"% 70", 10, ""},
		{"7/1", 10, ""},
		{"7", 10, ""},
		{"-7/10", 10, ""},
		{"07/10", 10, ""},
		{"7/", 10, ""},
		{"/10", 10, ""},
		{"7 of 10", 10, ""},
		{"about 7/10", 10, ""},
		{"7/10/10", 10, ""},
		{"7.1.1/10", 10, ""},
		{"7 % %", 10, ""},
		{"", 10, ""},
	} {
		t.Run("N14 "+tt.words, func(t *testing.T) {
			got, ok := answer.Figure(tt.words, tt.most)
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.want != "", ok)
		})
	}
}

func TestReadLoose(t *testing.T) {
	type mark struct {
		Score float64 `json:"score" min:"0" max:"10"`
		Notes []string
		By    map[string]int
	}
	shape, err := answer.For[mark]()
	require.NoError(t, err)
	t.Run("N14 what was dropped stands beside the value", func(t *testing.T) {
		got, dropped, err := answer.ReadLoose[mark](shape, nil, `{"result":{"score":"8/10","Notes":["a"],"By":{"b":1},"why":"x","mood":1}}`)
		require.NoError(t, err)
		assert.Equal(t, mark{Score: 8, Notes: []string{"a"}, By: map[string]int{"b": 1}}, got)
		assert.Equal(t, []string{"mood", "why"}, dropped)
	})
	for name, text := range map[string]string{
		"off the scale":        `{"score":"11/10","Notes":[],"By":{},"why":"x"}`,
		"a missing field":      `{"score":8,"Notes":[],"why":"x"}`,
		"a list of wrong kind": `{"score":8,"Notes":[{"a":1}],"By":{}}`,
		"a map of wrong kind":  `{"score":8,"Notes":[],"By":{"b":"c"}}`,
		"wrapped twice":        `{"result":{"result":{"score":8,"Notes":[],"By":{}}}}`,
	} {
		t.Run("N14 refused: "+name, func(t *testing.T) {
			_, dropped, err := answer.ReadLoose[mark](shape, nil, text)
			require.Error(t, err)
			assert.Empty(t, dropped)
		})
	}
}

// Many read with one shape at once, from data and from text, and none gets the names or the
// value of another.
func TestLooseTogether(t *testing.T) {
	shape := shapeOf[struct {
		Score float64 `json:"score" min:"0" max:"10"`
	}](t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			score, extra := i%11, fmt.Sprintf("extra%d", i)
			in := fmt.Sprintf(`{"answer":{"score":"%d/10",%q:1}}`, score, extra)
			for _, data := range []json.RawMessage{nil, json.RawMessage(in)} {
				got, dropped, err := shape.Loose(data, in)
				assert.NoError(t, err)
				assert.JSONEq(t, fmt.Sprintf(`{"score":%d}`, score), string(got))
				assert.Equal(t, []string{extra}, dropped)
				assert.Contains(t, in, extra, "the answer itself stays")
			}
		})
	}
	all.Wait()
}
