package answer_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// fitted is what data becomes by a schema: JSON, or "" if it does not fit.
func fitted(t testing.TB, schema, data string) string {
	t.Helper()
	s, err := answer.FromSchema(json.RawMessage(schema))
	require.NoError(t, err, schema)
	got, err := s.Find(json.RawMessage(data), "")
	assert.Equal(t, err == nil, s.Check(json.RawMessage(data)) == nil, "Check agrees with Find about %s", data)
	return string(got)
}

// TestTypes has each kind of value for each type that a schema may name.
func TestTypes(t *testing.T) {
	values := []string{`null`, `true`, `"x"`, `"12"`, `"true"`, `12`, `12.0`, `1.5`, `[]`, `[1]`, `{}`}
	for _, tt := range []struct {
		types string
		want  []string // value by value; "": it does not fit
	}{
		{`"null"`, []string{`null`, "", "", "", "", "", "", "", "", "", ""}},
		{`"boolean"`, []string{"", `true`, "", "", `true`, "", "", "", "", "", ""}},
		{`"string"`, []string{"", "", `"x"`, `"12"`, `"true"`, "", "", "", "", "", ""}},
		{`"integer"`, []string{"", "", "", `12`, "", `12`, `12`, "", "", "", ""}},
		{`"number"`, []string{"", "", "", `12`, "", `12`, `12.0`, `1.5`, "", "", ""}},
		{`"array"`, []string{"", "", "", "", "", "", "", "", `[]`, `[1]`, ""}},
		{`"object"`, []string{"", "", "", "", "", "", "", "", "", "", `{}`}},
		{`["string","null"]`, []string{`null`, "", `"x"`, `"12"`, `"true"`, "", "", "", "", "", ""}},
		{`["integer","boolean"]`, []string{"", `true`, "", `12`, `true`, `12`, `12`, "", "", "", ""}},
		{`["integer","number"]`, []string{"", "", "", `12`, "", `12`, `12`, `1.5`, "", "", ""}},
	} {
		for i, value := range values {
			assert.Equal(t, tt.want[i], fitted(t, `{"type":`+tt.types+`}`, value), "%s for the type %s", value, tt.types)
		}
	}
}

// TestBoundsAfterConversion has quoted values keep the same rules as plain ones.
func TestBoundsAfterConversion(t *testing.T) {
	for _, tt := range []struct{ schema, in, want string }{
		{`{"type":"integer","maximum":10}`, `"10"`, `10`},
		{`{"type":"integer","maximum":10}`, `"11"`, ""},
		{`{"type":"number","exclusiveMinimum":0}`, `"0.0"`, ""},
		{`{"type":"integer","enum":[1,2]}`, `"2"`, `2`},
		{`{"type":"integer","enum":[1,2]}`, `"3"`, ""},
		{`{"type":"boolean","const":true}`, `"TRUE"`, `true`},
		{`{"type":"boolean","const":true}`, `"False"`, ""},
		{`{"type":"array","items":{"type":"integer","minimum":5}}`, `"7"`, `[7]`},
		{`{"type":"array","items":{"type":"integer","minimum":5}}`, `"3"`, ""},
		{`{"type":"array","minItems":2,"items":{"type":"string"}}`, `"x"`, ""},
		{`{"type":"array","items":{"type":"object"}}`, `{"a":1}`, ""},
		{`{"type":"string","enum":["a b"],"maxLength":3}`, `"A_B"`, `"a b"`},
	} {
		assert.Equal(t, tt.want, fitted(t, tt.schema, tt.in), "%s for %s", tt.in, tt.schema)
	}
}

// TestLengthsCountCharacters is about strings that take more bytes than characters.
func TestLengthsCountCharacters(t *testing.T) {
	for n := range 5 {
		s := strconv.Quote(strings.Repeat("é", n))
		assert.Equal(t, n <= 3, fitted(t, `{"type":"string","maxLength":3}`, s) != "", "%d for at most 3", n)
		assert.Equal(t, n >= 3, fitted(t, `{"type":"string","minLength":3}`, s) != "", "%d for at least 3", n)
	}
}

// TestIntegersLoseNothing writes an integer in many ways, which all come back the same.
func TestIntegersLoseNothing(t *testing.T) {
	s := answer.MustFromSchema(`{"type":"integer"}`)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		zeros := rapid.IntRange(0, 5).Draw(t, "zeros")
		if n == 0 {
			zeros = 0 // 00 is no number in JSON
		}
		written := rapid.SampledFrom([]string{
			fmt.Sprintf("%d", n), fmt.Sprintf("%d.%s", n, strings.Repeat("0", zeros+1)), fmt.Sprintf("%d%se-%d", n, strings.Repeat("0", zeros), zeros),
			fmt.Sprintf("%dE%d", n, 0), fmt.Sprintf(`"%d"`, n), fmt.Sprintf(`" %d.0 "`, n),
		}).Draw(t, "written")
		got, err := s.Find(json.RawMessage(written), "")
		require.NoError(t, err, written)
		require.Equal(t, strconv.FormatInt(n, 10), string(got), written)

		require.Error(t, s.Check(json.RawMessage(fmt.Sprintf("%d.5", n))))
	})
}

// TestDurationsInWords reads what Go writes for a duration.
func TestDurationsInWords(t *testing.T) {
	s := shapeOf[time.Duration](t)
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "duration"))
		got, err := answer.Read[time.Duration](s, nil, strconv.Quote(d.String()))
		require.NoError(t, err)
		require.Equal(t, d, got)
	})
	for _, in := range []string{`"90"`, `90`, `"9e1"`} {
		got, err := s.Find(nil, in)
		require.NoError(t, err)
		assert.Equal(t, "90", string(got), "a number is of nanoseconds")
	}
	_, err := shapeOf[int](t).Find(nil, `"90s"`)
	require.Error(t, err, "other integers have no units")
}

// TestNamesAreFolded has names that differ in case and dashes, at any depth.
func TestNamesAreFolded(t *testing.T) {
	type deep struct {
		NextStep string `json:"next_step"`
		Kids     []struct {
			FullName string `json:"fullName"`
		} `json:"kids"`
	}
	s := shapeOf[deep](t)
	for _, name := range []string{"next_step", "nextStep", "NEXT-STEP", "Next Step", "_next_step_"} {
		got, err := s.Find(nil, fmt.Sprintf(`{%q:"x","KIDS":[{"full name":"y"}]}`, name))
		require.NoError(t, err, name)
		assert.Equal(t, `{"kids":[{"fullName":"y"}],"next_step":"x"}`, string(got), name)
	}
	for _, in := range []string{
		`{"next_step":"x","nextStep":"y","kids":[]}`, // the right name is there: the other is a stranger
		`{"nextStep":"x","NextStep":"y","kids":[]}`,  // two could be meant
		`{"next.step":"x","kids":[]}`,
		`{"nextstep2":"x","kids":[]}`,
	} {
		_, err := s.Find(nil, in)
		require.Error(t, err, in)
	}
}

// TestFaultPaths has the fault of a value name the whole way to it.
func TestFaultPaths(t *testing.T) {
	s := shapeOf[map[string][]struct {
		N int `json:"n"`
	}](t)
	for in, want := range map[string]string{
		`{"a":[{"n":1},{"n":"x"}]}`:              `/a/1/n: want {"type":"integer"}, got "x"`,
		`{"a":[{"n":1},{}]}`:                     `/a/1: want {"required":["n"]}, got {}`,
		`{"b":[{"n":"y"}],"a":[{"n":"x"}]}`:      `/a/0/n: want {"type":"integer"}, got "x"`, // in the order of names
		`{"a":[{"n":1,"m":2}]}`:                  `/a/0/m: want no such field, got 2`,
		`{"a":[{"n":{"deep":["` + "é" + `"]}}]}`: `/a/0/n: want {"type":"integer"}, got {"deep":["é"]}`,
	} {
		for range 5 { // the same words each time
			require.EqualError(t, s.Check(json.RawMessage(in)), want)
		}
	}
}

// TestNoListOfMisfits has a value that is no item either: it is the list that is wanted.
func TestNoListOfMisfits(t *testing.T) {
	s := answer.MustFromSchema(`{"type":"array","items":{"type":"integer"}}`)
	require.EqualError(t, s.Check(json.RawMessage(`"x"`)), `the answer: want {"type":"array"}, got "x"`)
}

// TestNullable has a value or null for pointers and for anyOf with null.
func TestNullable(t *testing.T) {
	const either = `{"properties":{"a":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]},"b":{"oneOf":[{"type":"null"},{"type":"boolean"}]}}}`
	for in, want := range map[string]string{
		`{"a":null,"b":null}`:  `{"a":null,"b":null}`,
		`{"a":"2","b":"True"}`: `{"a":2,"b":true}`,
		`{"a":0}`:              "",
		`{"b":1}`:              "",
		`{"a":"null"}`:         "",
	} {
		assert.Equal(t, want, fitted(t, either, in), in)
	}
}
