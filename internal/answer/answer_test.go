package answer_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/answer"
)

type plan struct {
	A int      `json:"a"`
	B []string `json:"b,omitempty"`
	R string   `json:"r,omitempty" enum:"low,very_high"`
}

func shapeOf[T any](tb testing.TB) *answer.Shape {
	tb.Helper()
	s, err := answer.For[T]()
	require.NoError(tb, err)
	return s
}

func TestFind(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{name: "plain", in: `{"a":1,"b":["x"]}`, want: `{"a":1,"b":["x"]}`},
		{name: "fence, prose and braces", in: "Sure {smile}!\n```json\n{\"a\": 1, \"b\": [\"x\"]}\n```\nHope it helps {smile}.", want: `{"a":1,"b":["x"]}`},
		{name: "prose in braces", in: `The plan {draft}: {"a": 1} done`, want: `{"a":1}`},
		{name: "prose in open braces", in: `The {draft and [note: {"a": 1} done`, want: `{"a":1}`},
		{name: "apostrophe in an open brace", in: `{'tis so: {"a": 1} done`, want: `{"a":1}`},
		{name: "quotes in prose", in: `He said "go" and {"a": 1}, "fine"`, want: `{"a":1}`},
		{name: "example of another shape first", in: "Example: {\"foo\": 1}\nAnswer: {\"a\": 2}", want: `{"a":2}`},
		{name: "broken example first", in: `Form: {"a": <number>}. Answer: {"a": 2}`, want: `{"a":2}`},
		{name: "citations first", in: strings.Repeat("[1] ", 1000) + `{"a": 2}`, want: `{"a":2}`},
		{name: "first of two that fit", in: `{"a": 1}{"a": 2}`, want: `{"a":1}`},
		{name: "trailing commas", in: `{"a": 1, "b": ["x",],}`, want: `{"a":1,"b":["x"]}`},
		{name: "single quotes", in: `{'a': 1, 'b': ['it\'s']}`, want: `{"a":1,"b":["it's"]}`},
		{name: "braces in single quotes", in: `{'a': 1, 'b': ['}"{']}`, want: `{"a":1,"b":["}\"{"]}`},
		{name: "unquoted keys", in: `{a: 1, b: ["x"]}`, want: `{"a":1,"b":["x"]}`},
		{name: "None for a list", in: `{"a": 1, "b": None}`, want: `{"a":1,"b":null}`},
		{name: "null for a list", in: `{"a": 1, "b": null}`, want: `{"a":1,"b":null}`},
		{name: "comments", in: "{\"a\": 1, // note\n\"b\": [\"x\"] /* y */}", want: `{"a":1,"b":["x"]}`},
		{name: "address is no comment", in: `{"a": 1, "b": ["http://x/y"]}`, want: `{"a":1,"b":["http://x/y"]}`},
		{name: "raw newline", in: "{\"a\": 1, \"b\": [\"l1\nl2\"]}", want: `{"a":1,"b":["l1\nl2"]}`},
		{name: "fence in a string", in: "```json\n{\"a\": 1, \"b\": [\"```go\\nfmt.Println()\\n```\"]}\n```", want: "{\"a\":1,\"b\":[\"```go\\nfmt.Println()\\n```\"]}"},
		{name: "smart quotes", in: `{“a”: 1, “b”: [“x "y"”, ‘z’]}`, want: `{"a":1,"b":["x \"y\"","z"]}`},
		{name: "smart quotes in a string", in: `{"a": 1, "b": ["“x” and ’y’"]}`, want: `{"a":1,"b":["“x” and ’y’"]}`},
		{name: "number as string", in: `{"a": "12"}`, want: `{"a":12}`},
		{name: "integer with a fraction of nothing", in: `{"a": 12.0}`, want: `{"a":12}`},
		{name: "integer with an exponent", in: `{"a": 1.2e1}`, want: `{"a":12}`},
		{name: "nineteen digits", in: `{"a": 9223372036854775807}`, want: `{"a":9223372036854775807}`},
		{name: "enum's case", in: `{"a": 1, "r": "Very High"}`, want: `{"a":1,"r":"very_high"}`},
		{name: "one value for a list", in: `{"a": 1, "b": "x"}`, want: `{"a":1,"b":["x"]}`},
		{name: "byte order mark", in: "\ufeff{\"a\":1}", want: `{"a":1}`},
		{name: "invalid UTF-8", in: "{\"a\":1,\"b\":[\"\xff\"]}", want: `{"a":1,"b":["` + "\ufffd" + `"]}`},
		{name: "key's case", in: `{"A": 1}`, want: `{"a":1}`},
		{name: "the same twice", in: `{"a": 1, "a": 1}`, want: `{"a":1}`},
		{name: "no HTML escapes", in: `{"a": 1, "b": ["<a&b>"]}`, want: `{"a":1,"b":["<a&b>"]}`},
		{name: "escapes", in: `{"a": 1, "b": ["\ud83d\ude00\u00e9\/\\n"]}`, want: `{"a":1,"b":["😀é/\\n"]}`},
		{name: "half a surrogate pair", in: `{"a": 1, "b": ["\ud83dx"]}`, want: `{"a":1,"b":["` + "\ufffd" + `x"]}`},
	}
	s := shapeOf[plan](t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Find(nil, tt.in)
			require.NoError(t, err, tt.in)
			assert.Equal(t, tt.want, string(got), tt.in)
			again, err := s.Find(got, "")
			require.NoError(t, err, tt.in)
			assert.Equal(t, got, again, tt.in)
			_, err = answer.Decode[plan](got)
			assert.NoError(t, err, tt.in)
		})
	}
}

func TestFindRefuses(t *testing.T) {
	none, cut := answer.ErrNone.Error(), answer.ErrCut.Error()
	tests := []struct{ name, in, want string }{
		{"empty", "", none},
		{"no JSON", "I cannot help with that.", none},
		{"prose in braces", "I cannot {help} with [that].", none},
		{"string cut off", `{"a": 1, "b": ["x", "hel`, cut},
		{"number cut off", `{"a": 12`, cut},
		{"no end", `{"a": 1, "b": ["x"`, cut},
		{"first key cut off", `Here: {"a`, cut},
		{"comment cut off", `{"a": 1, /* b`, cut},
		{"literal cut off", `{"a": 1, "b": nul`, cut},
		{"unquoted and cut off", `{a: 1, b: ["x`, cut},
		{"a part that fits inside a cut one", `{"plan": {"a": 1}, "note": "tru`, cut},
		{"an unquoted part that fits inside a cut one", `{plan: {a: 1}`, cut},
		{"a part in a list that is cut", `[{"a": 1}`, cut},
		{"example, then cut off", `{"foo": 1} {"a": 1, "b": ["x`, cut},
		{"enum", `{"a": 1, "r": "medium"}`, `/r: want {"type":"string","enum":["low","very_high"]}, got "medium"`},
		{"missing field", `{"b": []}`, `the answer: want {"required":["a"]}, got {"b":[]}`},
		{"extra field", `{"a": 1, "zz": 2}`, `/zz: want no such field, got 2`},
		{"extra fields, all at once", `{"zz": 2, "a": 1, "yy": "x"}`, `/yy, zz: want no such field, got "x"`},
		{"fraction for an integer", `{"a": "1.5"}`, `/a: want {"type":"integer"}, got "1.5"`},
		{"number with a unit", `{"a": "85%"}`, `/a: want {"type":"integer"}, got "85%"`},
		{"number with commas", `{"a": "1,000"}`, `/a: want {"type":"integer"}, got "1,000"`},
		{"bare unit", `{"a": 85%}`, `malformed JSON in line 1: want a comma or }, got "%}"`},
		{"NaN", `{"a": NaN}`, `malformed JSON in line 1: want a JSON value, got "NaN}"`},
		{"minus infinity", `{"a": -Infinity}`, `malformed JSON in line 1: want a JSON value, got "-Infinity}"`},
		{"undefined", `{"a": undefined}`, `malformed JSON in line 1: want a JSON value, got "undefined}"`},
		{"NaN in quotes", `{"a": "NaN"}`, `/a: want {"type":"integer"}, got "NaN"`},
		{"None for a number", `{"a": None}`, `/a: want {"type":"integer"}, got null`},
		{"null for an optional string", `{"a": 1, "r": null}`, `/r: want {"type":"string","enum":["low","very_high"]}, got null`},
		{"too large for anybody", `{"a": 1e999999999}`, `/a: want {"type":"integer"}, got 1e999999999`},
		{"leading zero", `{"a": 012}`, `malformed JSON in line 1: want a JSON value, got "012}"`},
		{"quotes in a string", `{"a": 1, "b": ["he said "hi" ok"]}`, `malformed JSON in line 1: want a comma or ], got "hi\" ok\"]}"`},
		{"missing comma", "{\"a\": 1\n \"b\": [\"x\"]}", `malformed JSON in line 2: want a comma or }, got "\"b\": [\"x\"]}"`},
		{"two commas", `{"a": 1,, "b": []}`, `malformed JSON in line 1: want a key in quotes or }, got ", \"b\": []}"`},
		{"a part that fits inside a broken one", `{"plan": x, "inner": {"a": 1}}`, `malformed JSON in line 1: want a JSON value, got "x, \"inner\": {\"a\": 1}}"`},
		{"a part that fits inside another", `{"inner": {"a": 1}}`, `the answer: want {"required":["a"]}, got {"inner":{"a":1}}`},
		{"key twice", `{"a": 1, "a": 2}`, `malformed JSON in line 1: want each key once, or with the same value, got "\"a\": 2}"`},
		{"key twice by case", `{"a": 1, "A": 2}`, `/A: want no such field, got 2`},
		{"two keys for one name", `{"A": 1, "_a": 1}`, `the answer: want {"required":["a"]}, got {"A":1,"_a":1}`},
		{"wrong escape", `{"a": 1, "b": ["\d}"]}`, "malformed JSON in line 1: want a valid escape sequence, or \"\\\\\" for a backslash, got \"\\\\d}\\\"]}\""},
		{"fraction cut off", `{"a": 1.`, cut},
		{"fraction without digits", `{"a": 1.}`, `malformed JSON in line 1: want a JSON value, got "1.}"`},
		{"exponent without digits", `{"a": 1e+}`, `malformed JSON in line 1: want a JSON value, got "1e+}"`},
		{"far less than an integer", `{"a": 1e-999999999}`, `/a: want {"type":"integer"}, got 1e-999999999`},
		{"exponent for an integer", `{"a": 1e99999999999999999999}`, `/a: want {"type":"integer"}, got 1e99999999999999999999`},
		{"wrong code point", `{"a": 1, "b": ["\u12x4"]}`, `malformed JSON in line 1: want a valid escape sequence, or "\\" for a backslash, got "2x4\"]}"`},
		{"list", `[{"a": 1}]`, `the answer: want {"type":"object","required":["a"]}, got [{"a":1}]`},
		{"number", `12`, `the answer: want {"type":"object","required":["a"]}, got 12`},
		{"the most promising of many", `{"x": 1} {"a": "high", "b": []} {"y": 1} [1]`, `/a: want {"type":"integer"}, got "high"`},
		{"the last of equals", `{"x": 1} {"b": 2, "a": "p"} {"b": 2, "a": "q"}`, `/a: want {"type":"integer"}, got "q"`},
		{"in a list", `{"a": 1, "b": ["x", 2]}`, `/b/1: want {"type":"string"}, got 2`},
	}
	s := shapeOf[plan](t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Find(nil, tt.in)
			require.EqualError(t, err, tt.want, "Extract(%q) = %s", tt.in, got)
		})
	}
	_, err := s.Find(nil, `{"a`)
	require.ErrorIs(t, err, answer.ErrCut)
	_, err = s.Find(nil, `a`)
	require.ErrorIs(t, err, answer.ErrNone)
}

// TestFindScalars: T is not an object.
func TestFindScalars(t *testing.T) {
	none, cut := answer.ErrNone.Error(), answer.ErrCut.Error()
	tests := []struct {
		name     string
		shape    *answer.Shape
		in, want string // want is JSON or an error
	}{
		{"bool", shapeOf[bool](t), "true", `true`},
		{"fenced bool", shapeOf[bool](t), "It is:\n```json\nfalse\n```", `false`},
		{"second fence", shapeOf[bool](t), "```go\nx\n```\n\n```\nfalse\n```", `false`},
		{"Python bool", shapeOf[bool](t), " True ", `true`},
		{"bool in quotes", shapeOf[bool](t), `"true"`, `true`},
		{"yes", shapeOf[bool](t), "Yes", none},
		{"bool in prose", shapeOf[bool](t), "That is true.", none},
		{"object for a bool", shapeOf[bool](t), `{"answer": true}`, `the answer: want {"type":"boolean"}, got {"answer":true}`},
		{"null for a bool", shapeOf[bool](t), `null`, `the answer: want {"type":"boolean"}, got null`},
		{"null for a pointer", shapeOf[*bool](t), `null`, "null"},
		{"string", shapeOf[string](t), `"go on"`, `"go on"`},
		{"text for a string", shapeOf[string](t), `go on`, none},
		{"text in single quotes", shapeOf[string](t), `'tis 'nought'`, none},
		{"quote first", shapeOf[string](t), `"Go on" she said`, none},
		{"string cut off", shapeOf[string](t), `"go o`, cut},
		{"number for a string", shapeOf[string](t), `12`, `the answer: want {"type":"string"}, got 12`},
		{"nothing", shapeOf[int](t), `0.0e5`, `0`},
		{"negative integer", shapeOf[int](t), `-1200e-2`, `-12`},
		{"largest integer", shapeOf[uint64](t), `"18446744073709551615"`, `18446744073709551615`},
		{"negative for a count", shapeOf[uint](t), `-1`, `the answer: want {"type":"integer","minimum":0}, got -1`},
		{"address", shapeOf[netip.Addr](t), `"127.0.0.1"`, `"127.0.0.1"`},
		{"integer", shapeOf[int](t), "```\n42\n```", `42`},
		{"number", shapeOf[float64](t), `0.10`, `0.10`},
		{"number in quotes", shapeOf[float64](t), `" 0.5 "`, `0.5`},
		{"list", shapeOf[[]string](t), `The list: ["a", "b"]`, `["a","b"]`},
		{"string for a list", shapeOf[[]string](t), `"a"`, `["a"]`},
		{"null for a list", shapeOf[[]string](t), `null`, `null`},
		{"list cut off", shapeOf[[]string](t), `["a", "b`, cut},
		{"list of numbers in quotes", shapeOf[[]int](t), `["1", 2.0]`, `[1,2]`},
		{"array", shapeOf[[2]int](t), `[1]`, `the answer: want {"type":"array","minItems":2,"maxItems":2}, got [1]`},
		{"anything: string", shapeOf[any](t), `"x"`, `"x"`},
		{"anything: object", shapeOf[json.RawMessage](t), `so {"b": 1, "a": [null]}.`, `{"a":[null],"b":1}`},
		{"anything: prose", shapeOf[json.RawMessage](t), `so`, none},
		{"any object", shapeOf[map[string]any](t), `{"b": 1.0}`, `{"b":1.0}`},
		{"list for an object", shapeOf[map[string]any](t), `[1]`, `the answer: want {"type":["object","null"]}, got [1]`},
		{"duration", shapeOf[time.Duration](t), `"1m30s"`, `90000000000`},
		{"time", shapeOf[time.Time](t), `"2026-03-04T05:06:07Z"`, `"2026-03-04T05:06:07Z"`},
		{"no time", shapeOf[time.Time](t), `"tomorrow"`, `the answer: want {"type":"string","format":"date-time"}, got "tomorrow"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.shape.Find(nil, tt.in)
			if err != nil {
				assert.Equal(t, tt.want, err.Error(), tt.in)
				return
			}
			assert.Equal(t, tt.want, string(got), tt.in)
		})
	}
}

func TestFindData(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"fits", ` {"a": 1} `, `{"a":1}`},
		{"converted", `{"A": "1"}`, `{"a":1}`},
		{"empty", ` `, `not JSON: unexpected end of JSON input`},
		{"cut off", `{"a":`, `not JSON: unexpected end of JSON input`},
		{"more behind", `{"a": 1} x`, `not JSON: invalid character 'x' after top-level value`},
		{"mends nothing", `{'a': 1,}`, `not JSON: invalid character '\'' looking for beginning of object key string`},
		{"too long", strings.Repeat(" ", answer.MaxText+1), "the answer has more than 4194304 bytes"},
		{"does not fit", `{}`, `the answer: want {"required":["a"]}, got {}`},
	}
	s := shapeOf[plan](t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Find(json.RawMessage(tt.in), "")
			if err != nil {
				assert.Equal(t, tt.want, err.Error(), tt.in)
				return
			}
			assert.Equal(t, tt.want, string(got), tt.in)
		})
	}
}

func TestDecodeKeepsNumbers(t *testing.T) {
	found, err := shapeOf[map[string]any](t).Find(nil, `{"n": 9007199254740993}`)
	require.NoError(t, err)
	got, err := answer.Decode[map[string]any](found)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"n": json.Number("9007199254740993")}, got)
}

// TestDecodeRefuses: the schema cannot say all that a type refuses.
func TestDecodeRefuses(t *testing.T) {
	found, err := shapeOf[plan](t).Find(nil, `{"a": 9223372036854775808}`)
	require.NoError(t, err)
	_, err = answer.Decode[plan](found)
	require.EqualError(t, err, "the answer: json: cannot unmarshal number 9223372036854775808 into Go struct field plan.a of type int")

	found, err = shapeOf[netip.Addr](t).Find(nil, `"`+strings.Repeat("home ", 1000)+`"`)
	require.NoError(t, err)
	_, err = answer.Decode[netip.Addr](found)
	require.ErrorContains(t, err, `the answer: ParseAddr("home home`)
	assert.Less(t, len(err.Error()), 600)
}

// TestErrorsAreShort: whatever is in the answer, the model gets little of it back.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("é\x01", 100_000)
	s, deep := shapeOf[plan](t), shapeOf[map[string]map[string]map[string]int](t)
	tests := []struct {
		name  string
		shape *answer.Shape
		in    string
	}{
		{"value", s, `{"a": "` + long + `"}`},
		{"field", s, `{"a": 1, "` + long + `": 1}`},
		{"path", deep, `{"` + long + `": {"` + long + `": {"` + long + `": "x"}}}`},
		{"number", s, `{"a": 1, "r": ` + strings.Repeat("9", 100_000) + `}`},
		{"malformed", s, `{"a": ?` + long},
		{"missing", s, `{"` + long + `": 1}`},
		{"too long", s, strings.Repeat("x", answer.MaxText+1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.shape.Find(nil, tt.in)
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 600, err.Error())
		})
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	s := shapeOf[any](t)
	got, err := s.Find(nil, nested(answer.MaxDepth))
	require.NoError(t, err)
	require.Equal(t, nested(answer.MaxDepth), string(got))

	_, err = s.Find(nil, nested(answer.MaxDepth+1))
	require.EqualError(t, err, `malformed JSON in line 1: want at most 200 objects and lists inside each other, got "[`+strings.Repeat("]", 59)+`…"`)
}
