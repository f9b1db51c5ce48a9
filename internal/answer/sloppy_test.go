package answer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// A sloppy writes JSON as models do: with each freedom that Find has promised to read.
type sloppy struct{ t *rapid.T }

func (s sloppy) pick(choices ...string) string {
	return rapid.SampledFrom(choices).Draw(s.t, "choice")
}

// space is what may stand between two tokens.
func (s sloppy) space() string {
	return s.pick("", "", "", " ", "\n", "\t", "/* so, {\"a\": */", "// so ]}\n", " \r\n")
}

// text writes a string between some quotes, with as few escapes as these allow.
func (s sloppy) text(v string) string {
	quotes := rapid.SampledFrom([][2]string{{`"`, `"`}, {`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}}).Draw(s.t, "quotes")
	if quotes[1] != `"` && strings.Contains(v, quotes[1]) {
		quotes = [2]string{`"`, `"`}
	}
	v = strings.ReplaceAll(v, `\`, `\\`)
	if quotes[0] == `"` {
		v = strings.ReplaceAll(v, `"`, `\"`)
	}
	return quotes[0] + v + quotes[1]
}

func (s sloppy) key(v string) string {
	if v == "plain_key" && s.pick("", "bare") == "bare" {
		return v
	}
	return s.text(v)
}

func (s sloppy) value(v any) string {
	switch x := v.(type) {
	case nil:
		return s.pick("null", "None")
	case bool:
		if x {
			return s.pick("true", "True")
		}
		return s.pick("false", "False")
	case string:
		return s.text(x)
	case []any:
		var parts []string
		for _, each := range x {
			parts = append(parts, s.space()+s.value(each)+s.space())
		}
		return s.between("[", parts, "]")
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, s.space()+s.key(name)+s.space()+":"+s.space()+s.value(x[name])+s.space())
		}
		return s.between("{", parts, "}")
	}
	return fmt.Sprint(v)
}

func (s sloppy) between(left string, parts []string, right string) string {
	if len(parts) > 0 && s.pick("", "", "trailing") != "" {
		right = "," + s.space() + right
	}
	return left + strings.Join(parts, ",") + right
}

// anyValue draws a tree of values, an object or a list at its root.
func anyValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = 4 + kind%2
	}
	if depth > 3 {
		kind %= 4
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "-1", "12.50", "1e3", "9007199254740993", "-0.1E-2"}).Draw(t, "number"))
	case 3:
		return rapid.SampledFrom([]string{"", "x", "a\nb\tc", `say "hi"`, "it's", "“so”", "‘so’", `C:\n`, "{[", "]},", "// no /* comment", "é😀", "```"}).Draw(t, "text")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, anyValue(t, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		name := rapid.SampledFrom([]string{"plain_key", "a b", "", `"`, "it's", "{"}).Draw(t, "name")
		object[name] = anyValue(t, depth+1)
	}
	return object
}

// TestSloppyJSON reads what has only one reading, however it is written.
func TestSloppyJSON(t *testing.T) {
	anything := shapeOf[json.RawMessage](t)
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(t, 0)
		want, err := json.Marshal(v)
		require.NoError(t, err)
		written := sloppy{t}.value(v)
		got, err := anything.Alone(written)
		require.NoError(t, err, "%s", written)
		require.JSONEq(t, string(want), string(got), "%s", written)
		found, err := anything.Find(nil, "So:\n"+written+"\nDone.")
		require.NoError(t, err, "%s", written)
		require.Equal(t, string(got), string(found), "%s", written)
	})
}

// TestSloppyJSONCut has no beginning of a value pass for the whole.
func TestSloppyJSONCut(t *testing.T) {
	anything := shapeOf[json.RawMessage](t)
	rapid.Check(t, func(t *rapid.T) {
		written := sloppy{t}.value(anyValue(t, 0))
		n := rapid.IntRange(1, len(written)-1).Draw(t, "n")
		_, err := anything.Alone(written[:n])
		require.Error(t, err, "%s", written[:n])
	})
}

// TestAlone has nothing but a value.
func TestAlone(t *testing.T) {
	s := shapeOf[plan](t)
	for _, tt := range []struct{ name, in, want string }{
		{"value", `{"a":1}`, `{"a":1}`},
		{"mended and converted", " {'A': '1',} // so", `{"a":1}`},
		{"prose before", `So: {"a":1}`, `malformed JSON in line 1: want a JSON value, got "So: {\"a\":1}"`},
		{"prose behind", "{\"a\":1}\nSo.", `malformed JSON in line 2: want nothing after the value, got "So."`},
		{"two values", `{"a":1}{"a":2}`, `malformed JSON in line 1: want nothing after the value, got "{\"a\":2}"`},
		{"a fence", "```\n{\"a\":1}\n```", "malformed JSON in line 1: want a JSON value, got \"```\""},
		{"nothing", "", `malformed JSON in line 1: want a JSON value, got ""`},
		{"another shape", `{"b":[]}`, `the answer: want {"required":["a"]}, got {"b":[]}`},
		{"too long", strings.Repeat(" ", answer.MaxText+1), "the answer has more than 4194304 bytes"},
		{"no UTF-8", "{\"a\":1,\"b\":[\"\xff\"]}", `{"a":1,"b":["` + "\ufffd" + `"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Alone(tt.in)
			if err != nil {
				require.Equal(t, tt.want, err.Error())
				return
			}
			require.Equal(t, tt.want, string(got))
		})
	}
}
