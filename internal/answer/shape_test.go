package answer_test

import (
	"encoding/json"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/answer"
)

type base struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty"`
}

type named struct {
	X int `json:"x"`
}

type report struct {
	base
	named `json:"inner"`
	Score float64          `json:"score" jsonschema:"how good it is" min:"0" max:"10"`
	Risk  *string          `json:"risk,omitempty" enum:"low,high"`
	Tags  []string         `json:"tags,omitzero" enum:"a,b"`
	Seen  map[string]int   `json:"seen"`
	Any   any              `json:"any,omitempty"`
	Raw   *json.RawMessage `json:"raw,omitempty"`
	At    time.Time        `json:"at,omitzero"`
	Wait  time.Duration    `json:"wait,omitempty" jsonschema:"until then"`
	Bytes []byte           `json:"bytes,omitempty"`
	Addr  netip.Addr       `json:"addr,omitzero"`
	Level uint8            `json:"level,omitempty"`
	Big   int64            `json:"big,omitempty,string"`
	Skip  int              `json:"-"`
	Note  string           `json:"note"`
	Plain bool
	inner int //nolint:unused // unexported fields are not in the schema
}

const reportSchema = `{
	"type": "object",
	"properties": {
		"id": {"type": "string"},
		"score": {"type": "number", "description": "how good it is", "minimum": 0, "maximum": 10},
		"risk": {"type": ["string", "null"], "enum": ["low", "high", null]},
		"tags": {"type": ["array", "null"], "items": {"type": "string", "enum": ["a", "b"]}},
		"seen": {"type": ["object", "null"], "additionalProperties": {"type": "integer"}},
		"any": {"description": "any JSON value"},
		"raw": {"description": "any JSON value"},
		"at": {"type": "string", "format": "date-time"},
		"wait": {"type": "integer", "title": "duration in nanoseconds", "description": "until then"},
		"bytes": {"type": ["string", "null"], "contentEncoding": "base64"},
		"addr": {"type": "string"},
		"level": {"type": "integer", "minimum": 0, "maximum": 255},
		"big": {"type": "string"},
		"note": {"type": "string"},
		"Plain": {"type": "boolean"}
	},
	"required": ["id", "score", "seen", "note", "Plain"],
	"additionalProperties": false
}`

func TestShapeJSON(t *testing.T) {
	s := shapeOf[report](t)
	assert.JSONEq(t, reportSchema, string(s.JSON()))

	s.JSON()[0] = 'x'
	assert.Equal(t, byte('{'), s.JSON()[0], "the caller owns the bytes")
}

type left struct {
	Same  int
	Other int
	Deep  string
}

type right struct {
	Same  string
	Other string `json:"Other"`
}

type both struct {
	left
	*right
	Deep bool
}

type odd struct{}

func (odd) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// TestShapeFields: the schema has the fields that encoding/json has.
func TestShapeFields(t *testing.T) {
	tests := []struct {
		name  string
		shape *answer.Shape
		want  string
	}{
		{"hidden fields", shapeOf[both](t), `{"type": "object", "properties": {
			"Other": {"type": "string"}, "Deep": {"type": "boolean"}},
			"required": ["Other", "Deep"], "additionalProperties": false}`},
		{"own JSON", shapeOf[odd](t), `{"description": "any JSON value"}`},
		{"number", shapeOf[json.Number](t), `{"type": "number"}`},
		{"pointer to a pointer", shapeOf[**int8](t), `{"type": ["integer", "null"], "minimum": -128, "maximum": 127}`},
		{"in quotes", shapeOf[struct {
			A *int `json:",string"`
		}](t), `{"type": "object", "properties": {"A": {"type": ["string", "null"]}}, "required": ["A"], "additionalProperties": false}`},
		{"keys", shapeOf[map[netip.Addr]map[int]bool](t), `{"type": ["object", "null"], "additionalProperties":
			{"type": ["object", "null"], "additionalProperties": {"type": "boolean"}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.JSONEq(t, tt.want, string(tt.shape.JSON())) })
	}
}

func TestShapesAreShared(t *testing.T) {
	type fresh struct{ A int }
	var all [8]*answer.Shape
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { all[i], _ = answer.For[fresh]() })
	}
	group.Wait()
	for _, s := range all {
		require.Same(t, all[0], s)
	}
}

func TestStoredSchemaMeansTheSame(t *testing.T) {
	s := shapeOf[report](t)
	stored, err := answer.FromSchema(s.JSON())
	require.NoError(t, err)
	assert.Equal(t, string(s.JSON()), string(stored.JSON()))

	in := `{"ID": "x", "score": "9.5", "seen": null, "note": "", "plain": "True", "wait": "90s", "tags": "A"}`
	want, err := s.Find(nil, in)
	require.NoError(t, err)
	got, err := stored.Find(nil, in)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.JSONEq(t, `{"Plain":true,"id":"x","note":"","score":9.5,"seen":null,"tags":["a"],"wait":90000000000}`, string(got))
}

type tree struct {
	Kids []tree `json:"kids"`
}

type loop map[string]loop

func TestTypesRefused(t *testing.T) {
	of := func(_ *answer.Shape, err error) error { return err }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"recursive struct", of(answer.For[tree]()), "schema of answer_test.tree: field kids: answer_test.tree contains itself: its schema would have no end"},
		{"recursive map", of(answer.For[loop]()), "schema of answer_test.loop: answer_test.loop contains itself: its schema would have no end"},
		{"function", of(answer.For[func()]()), "schema of func(): func() cannot be read from JSON"},
		{"methods", of(answer.For[struct{ E error }]()), "schema of struct { E error }: field E: error cannot be read from JSON"},
		{"map key", of(answer.For[map[bool]int]()), "schema of map[bool]int: bool cannot be a key in JSON"},
		{"enum of numbers", of(answer.For[struct {
			A int `enum:"1"`
		}]()), "schema of struct { A int \"enum:\\\"1\\\"\" }: field A: tag enum is for strings"},
		{"bound of a string", of(answer.For[struct {
			A string `min:"1"`
		}]()), `schema of struct { A string "min:\"1\"" }: field A: tag min:"1": want a number, for a number`},
		{"bound", of(answer.For[struct {
			A int `max:"x"`
		}]()), `schema of struct { A int "max:\"x\"" }: field A: tag max:"x": want a number, for a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.EqualError(t, tt.err, tt.want) })
	}
}

func TestSchemasRefused(t *testing.T) {
	for _, in := range []string{
		``, `x`, `null`, `1`, `{"type": 1}`, `{"pattern": "("}`, `{"$dynamicRef": "#x", "$dynamicAnchor": "x"}`,
		`{"$ref": "#"}`, `{"properties": {"x": {"$id": "http://e/x", "allOf": [{"$ref": "#"}]}}}`, `{"anyOf": [{"$ref": "#"}]}`, `{"$ref": "https://example.com/x"}`,
		`{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}`,
	} {
		_, err := answer.FromSchema(json.RawMessage(in))
		require.ErrorContains(t, err, "read schema: ", in)
	}
}

func TestFromSchema(t *testing.T) {
	const list = `{"$ref": "#/$defs/list", "$defs": {"list": {"type": "object", "required": ["v"], "additionalProperties": false,
		"properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "null"}]}}}}}`
	tests := []struct{ name, schema, in, want string }{
		{"true", `true`, `{"x": 1}`, `{"x":1}`},
		{"false", `false`, `{"x": 1}`, `the answer: want no such field, got {"x":1}`},
		{"recursion", list, `{"v": 1, "next": {"v": "2", "next": null}}`, `{"next":{"next":null,"v":2},"v":1}`},
		{"recursion's fault", list, `{"v": 1, "next": {"v": "x"}}`, `/next/v: want {"type":"integer"}, got "x"`},
		{"cannot be null", list, `null`, `the answer: want {"type":"object","required":["v"]}, got null`},
		{"pattern", `{"properties": {"a": {"pattern": "^x"}}}`, `{"a": "y"}`, `/a: want {"pattern":"^x"}, got "y"`},
		{"const", `{"properties": {"a": {"const": 1}}}`, `{"a": 2}`, `/a: want {"const":1}, got 2`},
		{"enum of numbers", `{"properties": {"a": {"enum": [1, "x"]}}}`, `{"a": 1.0}`, `{"a":1.0}`},
		{"bounds", `{"type": "number", "exclusiveMinimum": 0}`, `0`, `the answer: want {"type":"number","exclusiveMinimum":0}, got 0`},
		{"upper bounds", `{"type": "number", "exclusiveMaximum": 1}`, `1`, `the answer: want {"type":"number","exclusiveMaximum":1}, got 1`},
		{"minimum", `{"type": "number", "minimum": 1}`, `0.5`, `the answer: want {"type":"number","minimum":1}, got 0.5`},
		{"maximum", `{"type": "number", "maximum": 1}`, `1e3`, `the answer: want {"type":"number","maximum":1}, got 1e3`},
		{"range", `{"type": "number"}`, `1e999`, `the answer: want {"type":"number"}, got 1e999`},
		{"length", `{"type": "string", "maxLength": 1}`, `"éé"`, `the answer: want {"type":"string","maxLength":1}, got "éé"`},
		{"short", `{"type": "string", "minLength": 3}`, `"éé"`, `the answer: want {"type":"string","minLength":3}, got "éé"`},
		{"items", `{"type": "array", "maxItems": 1}`, `[1, 2]`, `the answer: want {"type":"array","maxItems":1}, got [1,2]`},
		{"rare keyword", `{"not": {"required": ["a"]}}`, `{"a": 1}`, `the answer: want {"not":{"required":["a"]}}, got {"a":1}`},
		{"alternatives", `{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{"b": 1}`, `{"b":1}`},
		{"ambiguous name", `{"properties": {"a_b": {}, "ab": {}}, "additionalProperties": false}`, `{"AB": 1}`, `/AB: want no such field, got 1`},
		{"dashes in a name", `{"properties": {"next_step": {}}}`, `{"Next-Step": 1}`, `{"next_step":1}`},
		{"ambiguous enum", `{"enum": ["a-b", "a_b"]}`, `"A B"`, `the answer: want {"enum":["a-b","a_b"]}, got "A B"`},
		{"path is a pointer", `{"properties": {"a/b": {"type": "string"}}}`, `{"a/b": 1}`, `/a/b: want {"type":"string"}, got 1`},
		{"patterned names", `{"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}`, `{"xa": "1"}`, `{"xa":"1"}`},
		{"other names", `{"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}`, `{"a": "1"}`, `the answer: want {"patternProperties":{"^x":{"type":"string"}}}, got {"a":"1"}`},
		{"old list", `{"type": "array", "items": {"type": "boolean"}}`, `["TRUE", false]`, `[true,false]`},
		{"bool for a list", `{"type": "array", "items": {"type": "boolean"}}`, `"true"`, `[true]`},
		{"empty for a list", `{"type": "array", "items": {"type": "string"}}`, `""`, `the answer: want {"type":"array"}, got ""`},
		{"list for a list of lists", `{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}`, `"x"`, `the answer: want {"type":"array"}, got "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := answer.FromSchema(json.RawMessage(tt.schema))
			require.NoError(t, err)
			got, err := s.Find(nil, tt.in)
			if err != nil {
				assert.Equal(t, tt.want, err.Error(), tt.in)
				return
			}
			assert.Equal(t, tt.want, string(got), tt.in)
		})
	}
}
