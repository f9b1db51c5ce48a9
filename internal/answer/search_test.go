package answer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// TestFirstThatFits has many values in a text, of which some fit.
func TestFirstThatFits(t *testing.T) {
	s := shapeOf[plan](t)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		want := ""
		for i := range rapid.IntRange(1, 8).Draw(t, "values") {
			value := rapid.SampledFrom([]string{`{"a":%d}`, `{"a":"%d"}`, `{"b":["%d"]}`, `{"c":%d}`, `[%d]`, `{"a":x%d}`, `{see %d}`}).Draw(t, "value")
			fmt.Fprintf(&text, "%s so: ", fmt.Sprintf(value, i))
			if want == "" && strings.HasPrefix(value, `{"a":`) && !strings.Contains(value, "x") {
				want = fmt.Sprintf(`{"a":%d}`, i)
			}
		}
		got, err := s.Find(nil, text.String())
		if want == "" {
			require.Error(t, err, text.String())
			return
		}
		require.NoError(t, err, text.String())
		require.Equal(t, want, string(got), text.String())
	})
}

// TestBlame has the error be about the value that promises most.
func TestBlame(t *testing.T) {
	missing := func(got string) string { return `the answer: want {"required":["a"]}, got ` + got }
	for _, tt := range []struct{ name, in, want string }{
		{"a known field beats none", `{"b":[]} {"x":1}`, missing(`{"b":[]}`)},
		{"two beat one", `{"b":[],"r":"low"} {"b":[]}`, missing(`{"b":[],"r":"low"}`)},
		{"an object beats a list", `{"x":1} [1]`, missing(`{"x":1}`)},
		{"the last of equals", `{"b":[1]} {"b":[2]}`, missing(`{"b":[2]}`)},
		{"a malformed one is like a stranger", `{"x":?} {"y":1}`, missing(`{"y":1}`)},
		{"a known field beats a malformed one", `{"b":[]} {"a":?}`, missing(`{"b":[]}`)},
		{"what is cut off beats all", `{"b":[],"r":"low"} {"a":1`, answer.ErrCut.Error()},
		{"prose in braces is nothing", `{"b":[]} {so to say}`, missing(`{"b":[]}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shapeOf[plan](t).Find(nil, tt.in)
			require.EqualError(t, err, tt.want)
		})
	}
}

// TestFences has a plain value in one of several blocks of code.
func TestFences(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no language", "```\n7\n```", "7"},
		{"a language", "```json\n7\n```", "7"},
		{"the first that fits", "```\n\"x\"\n```\n```\n7\n```\n```\n8\n```", "7"},
		{"between two blocks is no block", "```\na\n```\n7\n```\nb\n```", ""},
		{"a block without its end", "```\n7", ""},
		{"words beside it", "```\n7 or 8\n```", ""},
		{"in the line of the fence", "```7```", ""},
		{"the whole text", "  7\n", "7"},
		{"a comment behind", "```\n7 // so\n```", "7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shapeOf[int](t).Find(nil, tt.in)
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.want == "", err != nil)
		})
	}
}

// TestDataBeforeText has data that a model gave by itself go before its words.
func TestDataBeforeText(t *testing.T) {
	s := shapeOf[plan](t)
	got, err := s.Find(json.RawMessage(`{"a":1}`), `{"a":2}`)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(got))
	_, err = s.Find(json.RawMessage(`{"b":[]}`), `{"a":2}`)
	require.Error(t, err, "data that does not fit is not replaced by text")
	got, err = s.Find(json.RawMessage{}, `{"a":2}`)
	require.NoError(t, err)
	assert.Equal(t, `{"a":2}`, string(got), "no data")
	_, err = s.Find(json.RawMessage(`{"a":1}`), strings.Repeat(" ", answer.MaxText+1))
	require.Error(t, err, "the limit is for both")
	require.Error(t, s.Check(nil), "nothing fits no shape")
	require.ErrorIs(t, s.Check(nil), answer.ErrNone)
}

// TestKeysAreSorted has the same value come out as the same bytes, however it is ordered.
func TestKeysAreSorted(t *testing.T) {
	anything := shapeOf[json.RawMessage](t)
	names := []string{"a", "b", "B", "é", "", "a b", "0"}
	rapid.Check(t, func(t *rapid.T) {
		written := func(order []string) string {
			var parts []string
			for _, name := range order {
				parts = append(parts, fmt.Sprintf(`%q: {"z": %q, "y": 1}`, name, name))
			}
			return "{" + strings.Join(parts, " ,\n") + "}"
		}
		want, err := anything.Find(nil, written(names))
		require.NoError(t, err)
		got, err := anything.Find(nil, written(rapid.Permutation(names).Draw(t, "order")))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.NotContains(t, string(got), "\n")
		require.NotContains(t, string(got), `": `)
	})
}

// TestReadOwnsItsStrings has a small part of a large answer not keep all of it: each string
// is a copy of its own.
func TestReadOwnsItsStrings(t *testing.T) {
	type of struct {
		List []string          `json:"list"`
		Map  map[string]string `json:"map"`
		Next *link             `json:"next"`
	}
	text := []byte(`{"list":["one","two"],"map":{"key":"value"},"next":{"name":"n"}}`)
	got, err := answer.Read[of](shapeOf[of](t), text, "")
	require.NoError(t, err)
	clear(text)
	assert.Equal(t, of{[]string{"one", "two"}, map[string]string{"key": "value"}, &link{"n"}}, got)
}

type link struct {
	Name string `json:"name"`
}

// TestReadErrors has the zero value beside each error that finds none.
func TestReadErrors(t *testing.T) {
	s := shapeOf[plan](t)
	for in, want := range map[string]error{"no": answer.ErrNone, `{"a":1`: answer.ErrCut} {
		got, err := answer.Read[plan](s, nil, in)
		require.ErrorIs(t, err, want)
		assert.Equal(t, plan{}, got)
	}
	got, err := answer.Read[plan](s, nil, `{"b":[]}`)
	require.EqualError(t, err, `the answer: want {"required":["a"]}, got {"b":[]}`)
	assert.Equal(t, plan{}, got)
	_, err = answer.Read[plan](s, nil, `{"a":1e30}`)
	require.ErrorContains(t, err, "the answer: json: cannot unmarshal number 1")
}

// TestCallerKeepsItsData has nothing that a caller gave or got change afterwards.
func TestCallerKeepsItsData(t *testing.T) {
	s := shapeOf[plan](t)
	data := json.RawMessage(` {"A": "1", "b": "x"} `)
	first, err := s.Find(data, "")
	require.NoError(t, err)
	assert.Equal(t, ` {"A": "1", "b": "x"} `, string(data))
	second, err := s.Find(json.RawMessage(`{"a":2}`), "")
	require.NoError(t, err)
	clear(data)
	assert.Equal(t, `{"a":1,"b":["x"]}`, string(first))
	assert.Equal(t, `{"a":2}`, string(second))
}
