package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// tagged has each tag that says more than its field's type.
type tagged struct {
	Level  string    `json:"level,omitempty" enum:" low , very high "`
	Marks  []string  `json:"marks,omitempty" enum:"a,b"`
	Maybe  *string   `json:"maybe,omitempty" enum:"x"`
	Score  float64   `json:"score,omitempty" min:"-0.5" max:"1e2"`
	Count  uint8     `json:"count,omitempty" max:"9"`
	Least  *int      `json:"least,omitempty" min:"3"`
	Said   string    `json:"said,omitempty" jsonschema:"their words"`
	Always [2]string `json:"always"`
}

func TestTags(t *testing.T) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	require.NoError(t, json.Unmarshal(shapeOf[tagged](t).JSON(), &schema))
	for name, want := range map[string]string{
		"level":  `{"type":"string","enum":["low","very high"]}`,
		"marks":  `{"type":["array","null"],"items":{"type":"string","enum":["a","b"]}}`,
		"maybe":  `{"type":["string","null"],"enum":["x",null]}`,
		"score":  `{"type":"number","minimum":-0.5,"maximum":100}`,
		"count":  `{"type":"integer","minimum":0,"maximum":9}`,
		"least":  `{"type":["integer","null"],"minimum":3}`,
		"said":   `{"type":"string","description":"their words"}`,
		"always": `{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":2}`,
	} {
		assert.JSONEq(t, want, string(schema.Properties[name]), name)
	}
	assert.Equal(t, []string{"always"}, schema.Required)
}

// TestTagsBind has values at the bounds of tags and beyond them.
func TestTagsBind(t *testing.T) {
	s := shapeOf[tagged](t)
	for field, want := range map[string]bool{
		`"level":"low"`: true, `"level":"Very-High"`: true, `"level":"high"`: false, `"level":""`: false,
		`"marks":["a","B"]`: true, `"marks":["a","c"]`: false, `"marks":[]`: true, `"marks":null`: true,
		`"maybe":null`: true, `"maybe":"X"`: true, `"maybe":"y"`: false,
		`"score":-0.5`: true, `"score":-0.51`: false, `"score":100`: true, `"score":100.1`: false,
		`"count":9`: true, `"count":10`: false, `"count":-1`: false,
		`"least":3`: true, `"least":2`: false, `"least":null`: true,
		`"said":""`: true, `"said":null`: false,
	} {
		err := s.Check(json.RawMessage(`{"always":["x","y"],` + field + `}`))
		assert.Equal(t, want, err == nil, "%s: %v", field, err)
	}
}

// TestWhatFitsDecodes has the two readers agree: encoding/json reads what the shape takes,
// and the shape takes what encoding/json writes.
func TestWhatFitsDecodes(t *testing.T) {
	s := shapeOf[tagged](t)
	rapid.Check(t, func(t *rapid.T) {
		v := tagged{
			Level: rapid.SampledFrom([]string{"", "low", "very high"}).Draw(t, "level"),
			Marks: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 3).Draw(t, "marks"),
			Score: rapid.Float64Range(-0.5, 100).Draw(t, "score"), Count: rapid.Uint8Range(0, 9).Draw(t, "count"),
			Least: rapid.Ptr(rapid.IntMin(3), true).Draw(t, "least"), Said: rapid.String().Draw(t, "said"),
			Always: [2]string{rapid.String().Draw(t, "first"), rapid.String().Draw(t, "second")},
		}
		if len(v.Marks) == 0 {
			v.Marks = nil // it is left out
		}
		written, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, s.Check(written), "%s", written)
		got, err := answer.Read[tagged](s, written, "")
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}
