package text_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/text"
)

// sameAsCompact compares IsCompact with encoding/json.
func sameAsCompact(t require.TestingT, data string) {
	var short bytes.Buffer
	err := json.Compact(&short, []byte(data))
	require.Equal(t, err == nil && short.String() == data, text.IsCompact([]byte(data)), "%q", data)
}

func TestIsCompact(t *testing.T) {
	others := []string{"", " ", "\x00", "\x1f", "0", "9", ".", "e", "-", "+", `"`, `\`, "u", ",", ":", "{", "}", "[", "]", "t"}
	for _, whole := range []string{
		`{"a":[1,-2.5e+3,0,10.05,0.0E-9,{}],"b":[true,false,null,[]]}`,
		`{"é\u00aF\"\\\/\b\f\n\r\t":{"":{"a":""},"":1}}`,
		`"<&>"`,
		"\"\x80\x7f\u2028\"",
	} {
		for i := range len(whole) + 1 { // each of its beginnings, and with each byte changed
			sameAsCompact(t, whole[:i])
			for _, other := range others {
				sameAsCompact(t, whole[:i]+other+whole[min(i+1, len(whole)):])
				sameAsCompact(t, whole[:i]+other+whole[i:])
			}
		}
	}
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	assert.True(t, text.IsCompact([]byte(deep)))
	assert.False(t, text.IsCompact([]byte("["+deep+"]")), "deeper than it looks")
}

func FuzzIsCompact(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e+3,0.5,{}]}`,
		`{"a":1,}`,
		`{"a",1}`,
		`{1:1}`,
		`[1 ]`,
		`[,]`,
		`[1}`,
		`"\u12`,
		`"\u00g0"`,
		`"\x"`,
		"-",
		"1.",
		".5",
		"00.5",
		"1.2.3",
		"1e",
		"nul",
		"-01",
		`{"a":{}`,
		`{"a" :1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if strings.Count(data, "[")+strings.Count(data, "{") < 1000 {
			sameAsCompact(t, data)
		}
	})
}

// own writes and reads itself.
type own struct {
	says   string
	err    error
	writes int
	read   []string
}

func (o *own) MarshalJSON() ([]byte, error) { o.writes++; return []byte(o.says), o.err }

func (o *own) UnmarshalJSON(data []byte) error { o.read = append(o.read, string(data)); return o.err }

// What writes or reads itself is treated as encoding/json treats it.
func TestOwnJSON(t *testing.T) {
	for _, says := range []string{
		`{"a":"<&>"}`,
		" [ 1 ,\n2 ] ",
		"null",
		`"\u2028`,
		"",
		"{} {}",
		"[01]",
		strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	} {
		for _, failure := range []error{nil, errors.New("not today")} {
			v, theirs := &own{says: says, err: failure}, &own{says: says, err: failure}
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(false)
			wantErr := encoder.Encode(theirs)
			got, err := text.JSON(v)
			assert.Equal(t, wantErr == nil, err == nil, says)
			if err != nil {
				require.EqualError(t, err, wantErr.Error())
				assert.Equal(t, errors.Is(wantErr, failure), errors.Is(err, failure))
			}
			assert.Equal(t, strings.TrimSuffix(want.String(), "\n"), string(got))
			assert.Equal(t, 1, v.writes)

			wantErr = json.Unmarshal([]byte(says), theirs)
			require.Equal(t, wantErr, text.ReadJSON([]byte(says), v), says)
			assert.Equal(t, theirs.read, v.read)
		}
	}
	got, err := text.JSON((*own)(nil))
	require.NoError(t, err)
	assert.Equal(t, "null", string(got))
}

// within writes itself by text.JSON.
type within struct{ in any }

func (w within) MarshalJSON() ([]byte, error) { return text.JSON(w.in) }

func TestOwnJSONInside(t *testing.T) {
	v := within{map[string]any{"a": within{[]any{within{"<b>"}, &own{says: " [ 1 ]"}}}, "c": (*own)(nil)}}
	got, err := text.JSON(v)
	require.NoError(t, err)
	assert.Equal(t, `{"a":["<b>",[1]],"c":null}`, string(got))
	_, err = text.JSON(within{[]any{within{func() {}}}})
	require.ErrorContains(t, err, "unsupported type: func()")
}

// A value that writes itself costs one copy, which the caller owns.
func TestOwnJSONIsCopiedOnce(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	kept := json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := text.JSON(kept)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(kept)*3/2))
	kept[1] = 'y'
	assert.Equal(t, byte('x'), got[1])
}

// BenchmarkIsCompact is beside json.Valid, whose work it saves.
func BenchmarkIsCompact(b *testing.B) {
	data, err := text.JSON(slices.Repeat([]any{map[string]any{"id": "t1", "words": strings.Repeat("some words, ", 10), "n": 12.5, "done": true}}, 1000))
	require.NoError(b, err)
	for name, is := range map[string]func([]byte) bool{"ours": text.IsCompact, "json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				require.True(b, is(data))
			}
		})
	}
}
