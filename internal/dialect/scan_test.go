package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

// numbers are literals of every form that JSON has, at the bounds of the kinds.
var numbers = []string{
	"0", "-0", "7", "-12", "0.5", "-0.0", "1e0", "1E+2", "0.5e-3", "127", "128", "-128", "-129", "255", "256", "65536", "2147483648", "4294967296",
	"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "3.4028235e38", "3.5e38", "1.7976931348623157e308", "1e309", "5e-324", "1e-400", "123456789.123456789",
}

// pieces are parts of a JSON text that a scanner may take for another part, or must turn
// into letters.
var pieces = []string{
	"a", "b", " ", `\"`, `\\`, `\\\"`, `\/`, `\n`, `\b\f\r\t`, `\u0061`, `\u00e9`, `\ud83d\ude42`, `\ud800`, `\udc00x`, "é", "🙂", "\u2028", "\x7f", "\xff", "\xc3", "{", "}", "[", "]", ",", ":", "null",
}

// space draws white space, mostly none.
func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t", "\r\n", "  \t "}).Draw(t, "space")
}

func quoted(t *rapid.T) string {
	return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4).Draw(t, "text"), "") + `"`
}

// anyJSON draws a valid JSON text of any kind.
func anyJSON(t *rapid.T, depth int) string {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case kind == 1:
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case kind == 2 || depth == 0:
		return quoted(t)
	case kind == 3:
		return listOf(t, "[", "]", func() string { return anyJSON(t, depth-1) })
	default:
		return objectOf(t, depth)
	}
}

func objectOf(t *rapid.T, depth int) string {
	return listOf(t, "{", "}", func() string { return quoted(t) + space(t) + ":" + space(t) + anyJSON(t, depth-1) })
}

// listOf draws up to four elements between two brackets.
func listOf(t *rapid.T, begin, end string, element func() string) string {
	var all []string
	for range rapid.IntRange(0, 4).Draw(t, "elements") {
		all = append(all, space(t)+element()+space(t))
	}
	return begin + space(t) + strings.Join(all, ",") + end
}

// Where each part of a text begins and ends, and what names it has, is as encoding/json
// finds it. Of two members of one name the last counts.
func TestPartsAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agree[map[string]json.RawMessage](t, space(t)+objectOf(t, 4)+space(t))
		agree[[]json.RawMessage](t, space(t)+listOf(t, "[", "]", func() string { return anyJSON(t, 3) })+space(t))
		agree[any](t, anyJSON(t, 4))
	})
}

// A text that is cut or has a wrong letter is refused just when encoding/json refuses it.
func TestBrokenTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(objectOf(t, 3))
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		agree[map[string]json.RawMessage](t, string(text[:at]))
		agree[map[string]json.RawMessage](t, string(text[at:]))
		text[at] = rapid.SampledFrom([]byte("\"\\{}[],: \x00\x1f\xff0-")).Draw(t, "wrong")
		agree[map[string]json.RawMessage](t, string(text))
		agree[any](t, string(text))
	})
}

// agree checks that the lenient dialect reads text into a T as encoding/json does, or
// refuses it too.
func agree[T any](t require.TestingT, text string) {
	var theirs, ours T
	want, got := json.Unmarshal([]byte(text), &theirs), dialect.DecodeLenient([]byte(text), &ours)
	require.Equal(t, want == nil, got == nil, "%q: %v, %v", text, want, got)
	if want == nil {
		require.Equal(t, theirs, ours, "%q", text)
	}
}

// Each number is read into each kind, or refused, as encoding/json does.
func TestNumbersInEachKind(t *testing.T) {
	type word string
	type count int64
	type rate float32
	for _, text := range append(numbers, "null", "true", `"1"`, `""`, "[]", "{}") {
		agree[struct{ V int }](t, `{"V":`+text+`}`)
		agree[struct{ V int8 }](t, `{"V": `+text+` }`)
		agree[struct{ V int64 }](t, `{"V":`+text+"\n}")
		agree[struct{ V uint8 }](t, `{"V":`+text+`}`)
		agree[struct{ V uint64 }](t, `{"V":`+text+`}`)
		agree[struct{ V float32 }](t, `{"V":`+text+`}`)
		agree[struct{ V float64 }](t, `{"V":`+text+`}`)
		agree[struct{ V count }](t, `{"V":`+text+`}`)
		agree[struct{ V rate }](t, `{"V":`+text+`}`)
		agree[struct{ V word }](t, `{"V":`+text+`}`)
		agree[struct{ V bool }](t, `{"V":`+text+`}`)
		agree[struct{ V *int }](t, `{"V":`+text+`}`)
		agree[struct{ V any }](t, `{"V":`+text+`}`)
		agree[map[int]count](t, `{"-3":`+text+`}`)
		agree[[3]float64](t, `[1,`+text+`]`)
		agree[int](t, text)
		agree[word](t, text)
		agree[[]byte](t, text)
		agree[[2]byte](t, text)
	}
}

// Letters and numbers are written as encoding/json writes them without escapes for HTML.
func TestScalarsAreWrittenAsByEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		v := map[string]any{
			"x" + text.Draw(t, "key"): text.Draw(t, "text"), "f": rapid.Float64().Draw(t, "f"), "g": rapid.Float32().Draw(t, "g"),
			"i": rapid.Int64().Draw(t, "i"), "u": rapid.Uint64().Draw(t, "u"), "l": []bool{rapid.Bool().Draw(t, "l")},
			"e": rapid.SampledFrom([]float64{0, 1e-6, 9.99e-7, 1e21, 9.99e20, -1e-7, 1e20}).Draw(t, "e"),
		}
		var want bytes.Buffer
		plain := json.NewEncoder(&want)
		plain.SetEscapeHTML(false)
		require.NoError(t, plain.Encode(v))
		got, err := dialect.Encode(v)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSuffix(want.String(), "\n"), string(got))
	})
}

// White space may stand around each part, and a name may be written with escapes.
func TestSpaceAndEscapedNames(t *testing.T) {
	parts := []string{"{", `"id"`, ":", `"a"`, ",", `"\u0077a\u0069t"`, ":", "90", ",", `"parts"`, ":", "[", "{", "}", ",", "{", `"co\u0073t"`, ":", "0.5", "}", "]", ",", `"n\u0065xt"`, ":", "null", "}"}
	want := part{ID: "a", Wait: 90 * time.Second, Parts: []part{{}, {Cost: new(providers.Dollars(0.5))}}}
	for _, space := range []string{"", " ", "\n", "\t", "\r", " \r\n\t "} {
		var got part
		require.NoError(t, dialect.Decode([]byte(space+strings.Join(parts, space)+space), &got))
		assert.Equal(t, want, got, "%q", space)
	}
	require.EqualError(t, dialect.Decode([]byte(`{"I\u0044":"a","\ud83d\ude42":1,"a\"b":2}`), new(part)), "ID is unknown\na\"b is unknown\n🙂 is unknown")
}

// A text that ends too early changes nothing.
func TestCutTexts(t *testing.T) {
	const text = `{"id":"a\"b","wait":"1m","parts":[{"id":"\u00e9"},{}],"names":{"k":-0.25},"pair":[1,2]}`
	before := part{ID: "before", Wait: time.Hour}
	for end := range len(text) {
		got := before
		require.ErrorContains(t, dialect.Decode([]byte(text[:end]), &got), "is no JSON: ", text[:end])
		assert.Equal(t, before, got)
	}
	require.NoError(t, dialect.Decode([]byte(text), new(part)))
}

// Of several members of one name the last counts in the lenient dialect, as a whole: no fault
// of the others.
func TestMembersOfOneName(t *testing.T) {
	var got part
	require.NoError(t, dialect.DecodeLenient([]byte(`{"id":1,"next":{"id":"x","wait":1},"id":"a","next":{"id":"y"},"\u0069d":"b","wait":true,"wait":3}`), &got))
	assert.Equal(t, part{ID: "b", Wait: 3 * time.Second, Next: &part{ID: "y"}}, got)
	require.EqualError(t, dialect.DecodeLenient([]byte(`{"more":1,"id":"a","more":2,"id":3}`), &got), "id is a JSON number, want a string")
	var entries map[string]part
	require.NoError(t, dialect.DecodeLenient([]byte(`{"k":{"id":"x","wait":1},"k":{"id":"y"}}`), &entries))
	assert.Equal(t, map[string]part{"k": {ID: "y"}}, entries)
	require.NoError(t, dialect.DecodeLenient([]byte(`{"k":{"id":1},"k":{"id":"z"}}`), &entries))
	assert.Equal(t, map[string]part{"k": {ID: "z"}}, entries)
	require.EqualError(t, dialect.DecodeLenient([]byte(`{"k":{"id":1},"k":{"id":true}}`), &entries), "k.id is a JSON bool, want a string")
}

// A name that stands twice in an object is a fault with its path, wherever the object is.
func TestNamesThatStandTwice(t *testing.T) {
	var got struct {
		ID    string          `json:"id"`
		Parts []part          `json:"parts"`
		Named map[string]int  `json:"named"`
		Raw   json.RawMessage `json:"raw"`
		Any   any             `json:"any"`
	}
	text := `{"id":"a","parts":[{},{"wait":1,"id":"x","wai\u0074":2,"wait":3}],"named":{"k":1,"k":1},"raw":{"x":{"y":1,"y":2}},"any":[[{"z":0,"z":0}]],"id":"b","more":1}`
	require.EqualError(t, dialect.Decode([]byte(text), &got), strings.Join([]string{
		"parts[1].wait is there more than once", "named.k is there more than once", "raw.x.y is there more than once", "any[0][0].z is there more than once",
		"id is there more than once",
	}, "\n"), "nothing else is looked at")
	assert.Empty(t, got.ID)
	require.NoError(t, dialect.DecodeLenient([]byte(text), &got))
	assert.Equal(t, "b", got.ID)
}

// Structs may have any number of fields.
func TestManyFields(t *testing.T) {
	for _, n := range []int{0, 1, 23, 24, 25, 60} {
		var fields []reflect.StructField
		members := []string{}
		for i := range n {
			name := fmt.Sprintf("F%d", i)
			fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[int]()})
			members = append(members, fmt.Sprintf(`"%s":%d`, name, i+1))
		}
		text := "{" + strings.Join(members, ",") + "}"
		v := reflect.New(reflect.StructOf(fields))
		require.NoError(t, dialect.Decode([]byte(text), v.Interface()))
		data, err := dialect.Encode(v.Interface())
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
}

// Lists may be as deep as encoding/json reads them, and no deeper.
func TestDeepTexts(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	type list []list
	for _, n := range []int{1, 2, 500, 10000, 10001} {
		agree[list](t, deep(n))
		agree[struct{ Raw json.RawMessage }](t, `{"Raw":`+deep(n-1)+`}`)
	}
}
