package answer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

type mark struct {
	Score float64  `json:"score" min:"0" max:"10"`
	Count int      `json:"count,omitempty" min:"0" max:"4"`
	Notes []string `json:"notes,omitempty"`
	Parts []part   `json:"parts,omitempty"`
}

type part struct {
	Name  string   `json:"name,omitempty"`
	Share *float64 `json:"share,omitempty" min:"0" max:"1"`
}

func TestLoose(t *testing.T) {
	for _, tt := range []struct{ name, in, want, dropped string }{
		{"N14 an extra field", `{"score":7,"confidence":0.9}`, `{"score":7}`, "confidence"},
		{"N14 fields at any depth, each name once", `{"why":"x","score":7,"parts":[{"name":"a","x":1},{"name":"b","x":2}]}`, `{"parts":[{"name":"a"},{"name":"b"}],"score":7}`, "parts.x why"},
		{"N14 in prose", "So:\n```json\n{\"score\":7,\"why\":\"x\"}\n```", `{"score":7}`, "why"},
		{"N14 an object with a single field", `{"result":{"score":7}}`, `{"score":7}`, ""},
		{"N14 a list of one", `[{"score":7}]`, `{"score":7}`, ""},
		{"N14 JSON in a string", `"{\"score\":7}"`, `{"score":7}`, ""},
		{"N14 a wrapping and an extra field", `{"result":{"score":7,"why":"x"}}`, `{"score":7}`, "why"},
		{"N14 figure out of M", `{"score":"8/10","count":" 3 / 4 "}`, `{"count":3,"score":8}`, ""},
		{"N14 figure in percent", `{"score":"85 %","count":"50%"}`, `{"count":2,"score":8.5}`, ""},
		{"N14 figure in percent of 1", `{"score":1,"parts":[{"share":"7%"}]}`, `{"parts":[{"share":0.07}],"score":1}`, ""},
		{"N14 figure out of M with a fraction", `{"score":"8.25/10.0"}`, `{"score":8.25}`, ""},
		{"what fits exactly comes first", `{"score":1,"why":"x"} {"score":2}`, `{"score":2}`, ""},
		{"the most promising of those that nearly fit", `{"score":1,"why":"x"} {"score":2,"count":1,"why":"x"}`, `{"count":1,"score":2}`, "why"},
		{"nothing to drop", `{"score":7}`, `{"score":7}`, ""},
		{"the first of those that nearly fit as well", `{"score":1,"why":"x"} {"score":2,"how":"y"}`, `{"score":1}`, "why"},
		{"the names of the one that is read", `{"score":1,"why":"x"} {"score":70,"how":"y"}`, `{"score":1}`, "why"},

		{"N14 two wrappings", `[{"result":{"score":7}}]`, "", `the answer: want {"type":"object","required":["score"]}, got [{"result":{"score":7}}]`},
		{"N14 a list of two", `[{"score":7},{"score":8}]`, "", `the answer: want {"type":"object","required":["score"]}, got [{"score":7},{"score":8}]`},
		{"N14 a wrapping with two fields", `{"result":{"score":7},"ok":true}`, "", `the answer: want {"required":["score"]}, got {"ok":true,"result":{"score":7}}`},
		{"N14 a field that was asked for is no wrapping", `{"Score":{"score":7}}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got {"score":7}`},
		{"N14 a wrapping around what does not fit", `{"result":{"score":70}}`, "", `the answer: want {"required":["score"]}, got {"result":{"score":70}}`},
		{"N14 two keys that fold to one", `{"score":7,"Score":7}`, "", `/Score: want no such field, got 7`},
		{"N14 two strange keys for one name", `{"score":7,"Notes":["x"],"_notes":["y"]}`, "", `/Notes: want no such field, got ["x"]`},
		{"N14 two strange keys that fold to one", `{"score":7,"why":1,"Why":2}`, "", `/Why: want no such field, got 2`},
		{"N14 a missing field", `{"count":1,"why":"x"}`, "", `the answer: want {"required":["score"]}, got {"count":1}`},
		{"N14 out of range", `{"score":11,"why":"x"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got 11`},
		{"N14 the wrong kind", `{"score":"high","why":"x"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got "high"`},
		{"N14 a figure out of another M", `{"score":"8/5"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got "8/5"`},
		{"N14 a figure above M", `{"score":"12/10"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got "12/10"`},
		{"N14 more than all percent", `{"score":"101%"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got "101%"`},
		{"N14 percent that are no integer", `{"score":1,"count":"85%"}`, "", `/count: want {"type":"integer","minimum":0,"maximum":4}, got "85%"`},
		{"N14 words for a figure", `{"score":"9 out of 10"}`, "", `/score: want {"type":"number","minimum":0,"maximum":10}, got "9 out of 10"`},
		{"an item in which nothing was asked for", `{"score":1,"parts":[{"x":1}]}`, "", `/parts/0/x: want no such field, got 1`},
		{"what nearly fits, then cut off", `{"score":1,"why":"x"} {"score":2,"why":`, "", answer.ErrCut.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, dropped, err := shapeOf[mark](t).Loose(nil, tt.in)
			if tt.want == "" {
				require.EqualError(t, err, tt.dropped)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.dropped, strings.Join(dropped, " "))
			if tt.want != tt.in && !strings.Contains(tt.name, "comes first") {
				_, err = shapeOf[mark](t).Find(nil, tt.in)
				require.Error(t, err, "Find stays strict")
			}
		})
	}
}

// TestLooseSchemas: what a schema leaves open is dropped only if the schema is the program's.
func TestLooseSchemas(t *testing.T) {
	const closed = `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`
	open := strings.Replace(closed, `,"additionalProperties":false`, "", 1)
	const tuple = `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number","minimum":0,"maximum":10}}`
	host := func(schema string) *answer.Shape {
		s, err := answer.FromSchema(json.RawMessage(schema))
		require.NoError(t, err)
		return s
	}
	wrapped := host(`{"type":"object","additionalProperties":` + strings.Replace(closed, `"properties"`, `"required":["a"],"properties"`, 1) + `}`)
	for _, tt := range []struct {
		name    string
		shape   *answer.Shape
		in      string
		want    string
		dropped []string
	}{
		{"closed", host(closed), `{"a":1,"b":2}`, `{"a":1}`, []string{"b"}},
		{"N14 a schema that a host wrote stands as written", host(open), `{"a":1,"b":2}`, `{"a":1,"b":2}`, nil},
		{"open, of the program", answer.MustFromSchema(open), `{"a":1,"b":2}`, `{"a":1}`, []string{"b"}},
		{"open, nothing asked for", answer.MustFromSchema(open), `{"b":2}`, ``, nil},
		{"a map keeps its keys", shapeOf[map[string]int](t), `{"b":2,"B":3}`, `{"B":3,"b":2}`, nil},
		{"a map of objects", shapeOf[map[string]part](t), `{"b":{"name":"x","y":1}}`, `{"b":{"name":"x"}}`, []string{"b.y"}},
		{"patterns keep their keys", host(`{"type":"object","patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}`), `{"x1":2}`, `{"x1":2}`, nil},
		{"a struct without fields", shapeOf[struct{}](t), `{"b":2}`, `{}`, []string{"b"}},
		{"a bool in an object stays malformed", shapeOf[bool](t), `{"answer":true}`, ``, nil},
		{"a list in an object", shapeOf[[]int](t), `{"answer":[1,2]}`, `[1,2]`, nil},
		{"what fits an open schema of the program is exact", answer.MustFromSchema(strings.Replace(open, `"a":`, `"b":{},"a":`, 1)), `{"a":1} {"a":2,"b":3}`, `{"a":1}`, nil},
		{"N14 a list of one, which is no object", shapeOf[bool](t), `[true]`, `true`, nil},
		{"null in a string is no null", shapeOf[*int](t), `"null"`, ``, nil},
		{"N14 what is wrapped stays as it was", wrapped, `{"r":{"A":{"a":1}}}`, `{"A":{"a":1}}`, nil},
		{"N14 a wrapping drops nothing of what is in it", wrapped, `{"r":{"x":{"a":1},"a":{"a":2}}}`, `{"a":{"a":2},"x":{"a":1}}`, nil},
		{"the first items of a list have schemas of their own", host(`{"type":"object","properties":{"n":` + tuple + `},"additionalProperties":false}`), `{"n":["8/10",7],"x":1}`, `{"n":["8/10",7]}`, []string{"x"}},
		{"a list keeps its only item", shapeOf[[]int](t), `[1]`, `[1]`, nil},
		{"a bound of its own", host(`{"type":"number","minimum":1,"maximum":10}`), `"8/10"`, ``, nil},
		{"a text that is also a figure", host(`{"type":["string","number"],"minimum":0,"maximum":10}`), `"8/10"`, `"8/10"`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, dropped, err := tt.shape.Loose(nil, tt.in)
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.want == "", err != nil)
			assert.Equal(t, tt.dropped, slices.Clip(dropped))
		})
	}
}

// TestLooseNames: names come from a model, and stay short.
func TestLooseNames(t *testing.T) {
	in := `{"score":1`
	for i := range 50 {
		in += fmt.Sprintf(`,"%d %s\n":1`, i, strings.Repeat("x", 1000))
	}
	_, dropped, err := shapeOf[mark](t).Loose(nil, in+"}")
	require.NoError(t, err)
	require.Len(t, dropped, 20)
	for _, name := range dropped {
		assert.Less(t, len(name), 70)
		assert.NotContains(t, name, "\n")
	}
}

// dumb reads a mark without any code of the package, for values that TestLooseIsDumb makes.
func dumb(v any) (want map[string]any, ok bool) {
	if want, ok = dumbMark(v); ok {
		return want, true
	}
	switch x := v.(type) {
	case []any:
		if len(x) == 1 {
			return dumbMark(x[0])
		}
	case string:
		var inner any
		if json.Unmarshal([]byte(x), &inner) == nil {
			return dumbMark(inner)
		}
	case map[string]any:
		for name, inner := range x {
			if len(x) == 1 && strings.ToLower(name) != "score" && strings.ToLower(name) != "count" {
				return dumbMark(inner)
			}
		}
	}
	return nil, false
}

func dumbMark(v any) (map[string]any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	folded := map[string]int{}
	want := map[string]any{}
	for name, value := range object {
		low := strings.ToLower(name)
		if folded[low]++; folded[low] > 1 {
			return nil, false
		}
		if low == "score" || low == "count" {
			want[low] = value
		}
	}
	most := map[string]float64{"score": 10, "count": 4}
	for name, value := range want {
		if words, ok := value.(string); ok {
			var x, m float64
			if n, _ := fmt.Sscanf(words, "%g/%g", &x, &m); n == 2 && m == most[name] {
				value = x
			} else if n, _ := fmt.Sscanf(words, "%g%%", &x); n == 1 && strings.HasSuffix(words, "%") {
				value = x * most[name] / 100
			}
		}
		x, ok := value.(float64)
		if !ok || x < 0 || x > most[name] || name == "count" && x != float64(int(x)) {
			return nil, false
		}
		want[name] = x
	}
	_, ok = want["score"]
	return want, ok
}

// TestLooseIsDumb holds Loose against an implementation that is as simple as can be.
func TestLooseIsDumb(t *testing.T) {
	s := shapeOf[struct {
		Score float64 `json:"score" min:"0" max:"10"`
		Count int     `json:"count,omitempty" min:"0" max:"4"`
	}](t)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]any{0.0, 1.0, 4.0, 7.5, 10.0, 11.0, -1.0, true, nil, "x", "8/10", "3/4", "8/5", "12/10", "50%", "25%", "101%", []any{1.0}, map[string]any{"score": 1.0}})
		object := map[string]any{}
		for _, name := range []string{"score", "Score", "count", "COUNT", "why", "Why", "note"} {
			if rapid.IntRange(0, 2).Draw(t, name) == 0 || name == "score" && rapid.Bool().Draw(t, "usual") {
				object[name] = value.Draw(t, "value of "+name)
			}
		}
		var v any = object
		for range rapid.IntRange(0, 2).Draw(t, "wrappings") {
			switch rapid.IntRange(0, 3).Draw(t, "wrapping") {
			case 0:
				v = []any{v}
			case 1:
				v = map[string]any{rapid.SampledFrom([]string{"result", "Score", "data"}).Draw(t, "name"): v}
			case 2:
				data, err := json.Marshal(v)
				require.NoError(t, err)
				v = string(data)
			case 3:
				v = []any{v, v}
			}
		}
		data, err := json.Marshal(v)
		require.NoError(t, err)
		want, ok := dumb(v)
		for _, text := range []bool{false, true} {
			got, _, err := s.Loose(data, "")
			if text {
				got, _, err = s.Loose(nil, string(data))
			}
			if require.Equal(t, ok, err == nil, "%s: %v", data, err); ok {
				expected, err := json.Marshal(want)
				require.NoError(t, err)
				require.JSONEq(t, string(expected), string(got), "%s", data)
			}
		}
	})
}

// FuzzLoose holds the laws of Loose: what Find reads it reads the same, without dropping
// anything; what it reads Find reads, too.
func FuzzLoose(f *testing.F) {
	for _, seed := range []string{`{"score":"8/10","x":1}`, `[{"score":1}]`, `"{\"score\":1}"`, `{"r":{"score":"5%"}}`, "```\n{}\n```", `{"score":1,"Score":1}`} {
		f.Add(seed)
	}
	s := shapeOf[mark](f)
	f.Fuzz(func(t *testing.T, in string) {
		got, dropped, err := s.Loose(nil, in)
		if found, strict := s.Find(nil, in); strict == nil {
			require.NoError(t, err, "%q", in)
			require.Equal(t, string(found), string(got), "%q", in)
			require.Empty(t, dropped, "%q", in)
		}
		if err == nil {
			again, err := s.Find(got, "")
			require.NoError(t, err, "%q", in)
			require.Equal(t, string(got), string(again), "%q", in)
		}
	})
}
