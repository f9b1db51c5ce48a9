package answer_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// FuzzFind holds the laws of Find for any text: what is accepted is JSON
// that fits, and is accepted again as it is; valid JSON keeps its meaning.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, "```json\n{'a': 1,}\n```", `{"a": "1", "b": ["x`, `{“a”: 1}`, `{a: None /* x`,
		`[1] {"A": 1.0, "r": "LOW"}`, `{"a":1,"a":1.0}`, `"x"`, `1e400`, `{"\ud800":"\udc00\u0000"}`, "true // x",
		`{"a":1,"b":"x","r":"very high"}`, "[{\"a\":\"\xff\"}]", `{"":{"":[[],{}]}}`, `-0.0`, `{"a": -0}`,
	} {
		f.Add(seed)
	}
	typed, anything := shapeOf[plan](f), shapeOf[json.RawMessage](f)
	var schema jsonschema.Schema
	require.NoError(f, json.Unmarshal(typed.JSON(), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(f, err)

	f.Fuzz(func(t *testing.T, in string) {
		if found, err := typed.Find(nil, in); err == nil {
			var v any
			require.NoError(t, json.Unmarshal(found, &v), "%q", in)
			require.NoError(t, resolved.Validate(v), "%q", in)
			again, err := typed.Find(found, "")
			require.NoError(t, err, "%q", in)
			require.Equal(t, found, again, "%q", in)
		}
		found, err := anything.Find(nil, in)
		if err == nil {
			require.True(t, json.Valid(found), "%q gave %q", in, found)
		}
		checked, checkErr := anything.Find(json.RawMessage(in), "")
		if !json.Valid([]byte(in)) {
			if utf8.ValidString(in) && !strings.HasPrefix(in, "\ufeff") {
				require.Error(t, checkErr, "%q", in)
			}
			return
		}
		if beyond(err) || !utf8.ValidString(in) {
			return
		}
		require.NoError(t, err, "%q", in)
		require.NoError(t, checkErr, "%q", in)
		require.Equal(t, found, checked, "%q", in)
		require.Equal(t, meaning(t, []byte(in)), meaning(t, found), "%q gave %q", in, found)
	})
}

// beyond reports whether err is one of the few reasons to refuse valid JSON.
func beyond(err error) bool {
	if err == nil {
		return false
	}
	for _, text := range []string{"each key once", "inside each other", "at most 1.8e308"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

func meaning(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v), "%q", data)
	return v
}

type step struct {
	Name  string            `json:"name"`
	Score *float64          `json:"score,omitempty"`
	Done  bool              `json:"done"`
	Big   int64             `json:"big"`
	Tags  []string          `json:"tags"`
	More  map[string]uint16 `json:"more,omitempty"`
	Raw   any               `json:"raw"`
	Data  []byte            `json:"data"`
}

type sample struct {
	Title string `json:"title"`
	Steps []step `json:"steps"`
}

func steps() *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		return step{
			Name:  rapid.String().Draw(t, "name"),
			Score: rapid.Ptr(rapid.Float64(), true).Draw(t, "score"),
			Done:  rapid.Bool().Draw(t, "done"),
			Big:   rapid.Int64().Draw(t, "big"),
			Tags:  rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tags"),
			More:  rapid.MapOfN(rapid.String(), rapid.Uint16(), 0, 3).Draw(t, "more"),
			Raw:   rapid.SampledFrom([]any{nil, "}]`\"'", true, json.Number("1.50"), []any{}, map[string]any{"k": "{"}}).Draw(t, "raw"),
			Data:  rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "data"),
		}
	})
}

// TestFindGivesBack: any value that Go marshals comes back from any wrapping.
func TestFindGivesBack(t *testing.T) {
	s := shapeOf[sample](t)
	rapid.Check(t, func(t *rapid.T) {
		value := sample{
			Title: rapid.String().Draw(t, "title"),
			Steps: rapid.SliceOfN(steps(), 0, 3).Draw(t, "steps"),
		}
		data, err := json.Marshal(value)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "indented") {
			var out bytes.Buffer
			require.NoError(t, json.Indent(&out, data, "", "\t"))
			data = out.Bytes()
		}
		wrap := rapid.SampledFrom([][2]string{
			{"", ""},
			{"```json\n", "\n```"},
			{"It's {draft}, see [1] and \"x\":\n```\n", "\n```\nBye {you}."},
			{"Example: {\"title\": 1}. Answer:", " or [so"},
			{"{", "}"},
		}).Draw(t, "wrap")

		found, err := s.Find(nil, wrap[0]+string(data)+wrap[1])
		require.NoError(t, err, "%s%s%s", wrap[0], data, wrap[1])
		got, err := answer.Decode[sample](found)
		require.NoError(t, err)
		back, err := json.Marshal(got)
		require.NoError(t, err)
		want, err := json.Marshal(value)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(back))
	})
}

// TestCutIsRefused: no beginning of an answer is an answer.
func TestCutIsRefused(t *testing.T) {
	s := shapeOf[sample](t)
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(sample{Steps: rapid.SliceOfN(steps(), 1, 2).Draw(t, "steps")})
		require.NoError(t, err)
		n := rapid.IntRange(1, len(data)-1).Draw(t, "n")
		_, err = s.Find(nil, "Answer: "+string(data[:n]))
		require.ErrorIs(t, err, answer.ErrCut, "%s", data[:n])
	})
}
