package answer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/answer"
)

// The types of which a Go type may be made, each read in its own way.
type (
	byWord string
	upper  string
	inner  struct {
		A int8 `json:"a"`
	}
	everything struct {
		inner
		Text   byWord             `json:"text,omitempty"`
		Quoted int                `json:"quoted,omitempty,string"`
		At     time.Time          `json:"at,omitzero"`
		Wait   time.Duration      `json:"wait,omitempty"`
		Number json.Number        `json:"number,omitempty"`
		Raw    json.RawMessage    `json:"raw,omitempty"`
		Any    any                `json:"any,omitempty"`
		Bytes  []byte             `json:"bytes,omitempty"`
		Pair   [2]int             `json:"pair,omitempty"`
		Next   **inner            `json:"next,omitempty"`
		ByKey  map[upper]upper    `json:"byKey,omitempty"`
		ByInt  map[int]bool       `json:"byInt,omitempty"`
		ByName map[byWord]*inner  `json:"byName,omitempty"`
		Lists  [][]uint16         `json:"lists,omitempty"`
		Small  float32            `json:"small,omitempty"`
		Of     []struct{ X bool } `json:"of,omitempty"`
	}
	oneX   struct{ X int }
	otherX struct{ X int }
	twice  struct { // two fields of one name: none counts
		oneX
		otherX
		C int `json:"c,omitempty"`
	}
	misnamed struct {
		A int `json:"a\"b,omitempty"` //nolint:staticcheck // encoding/json does not take this name
	}
)

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

// alike holds Read against Find and Decode, which write and read the value as JSON.
func alike[T any](t require.TestingT, s *answer.Shape, in string) {
	for _, data := range []json.RawMessage{nil, json.RawMessage(in)} {
		var want T
		found, wantErr := s.Find(data, in)
		if wantErr == nil {
			want, wantErr = answer.Decode[T](found)
		}
		got, err := answer.Read[T](s, data, in)
		assert.Equal(t, want, got, "%q", in)
		if wantErr == nil {
			assert.NoError(t, err, "%q", in)
		} else {
			assert.EqualError(t, err, wantErr.Error(), "%q", in)
		}
		if data != nil {
			_, wantErr = s.Find(data, "")
			assert.Equal(t, wantErr == nil, s.Check(data) == nil, "%q", in)
		}
	}
}

func TestReadIsFindAndDecode(t *testing.T) {
	inputs := []string{
		`{"a":1}`, `{"a":"2"}`, `{"a":300}`, `{"A":1}`, `{"a":1.0}`, `{"a":null}`, `{}`, `null`, `[]`, `7`, `"x"`, `{`, ``,
		`{"a":1,"text":"é\u2028<&>","quoted":"7","at":"2026-01-02T15:04:05Z","wait":"90s","number":1.50}`,
		`{"a":1,"quoted":"x"}`, `{"a":1,"quoted":null}`, `{"a":1,"at":"no time"}`, `{"a":1,"wait":1e3}`, `{"a":1,"number":"1e999"}`,
		`{"a":1,"raw":{"b":[1,"<"]},"any":{"n":1.10,"l":[],"o":{},"z":null},"bytes":"aGk=","pair":[1,2]}`,
		`{"a":1,"raw":null,"any":null,"bytes":null,"next":null,"byKey":null,"lists":null}`,
		`{"a":1,"bytes":"%%"}`, `{"a":1,"pair":[1]}`, `{"a":1,"pair":[1,2,3]}`, `{"a":1,"next":{"a":3}}`, `{"a":1,"next":{"a":"x"}}`,
		`{"a":1,"byKey":{"k":"v","b":null},"byInt":{"1":true},"byName":{"x":{"a":1},"y":null},"lists":[[1],[],null,[65535]]}`,
		`{"a":1,"byInt":{"x":true}}`, `{"a":1,"lists":[[65536]]}`, `{"a":1,"lists":7}`, `{"a":1,"small":1e39}`, `{"a":1,"small":0.1}`,
		`{"a":1,"of":[{"X":true},{"x":"false"}]}`, `{"c":1}`, `{"x":1}`, `{"a\"b":1}`, `{"X":true}`, "{'a': 1,} // mended", `{"a":12345678901234567890}`,
	}
	anything := answer.MustFromSchema(`{"description":"any JSON value"}`)
	for _, in := range inputs {
		alike[everything](t, shapeOf[everything](t), in)
		alike[twice](t, shapeOf[twice](t), in)
		alike[misnamed](t, shapeOf[misnamed](t), in)
		alike[map[string]any](t, shapeOf[map[string]any](t), in)
		alike[*float64](t, shapeOf[*float64](t), in)
		alike[sample](t, shapeOf[sample](t), in)
		alike[everything](t, anything, in) // a schema that says less than the type
		alike[inner](t, anything, in)
		alike[twice](t, anything, in)
		alike[misnamed](t, anything, in)
		alike[[]uint8](t, anything, in)
		alike[map[string]json.RawMessage](t, anything, in)
		alike[any](t, anything, in)
	}
	t.Run("any value", rapid.MakeCheck(func(t *rapid.T) {
		data, err := json.Marshal(sample{rapid.String().Draw(t, "title"), rapid.SliceOfN(steps(), 0, 3).Draw(t, "steps")})
		require.NoError(t, err)
		s, err := answer.For[sample]()
		require.NoError(t, err)
		alike[sample](t, s, string(data))
	}))
}

// counted counts how often it is read.
type counted struct{ reads int }

func (c *counted) UnmarshalJSON([]byte) error {
	c.reads++
	return nil
}

func TestReadParsesOnce(t *testing.T) {
	type of struct {
		List []counted `json:"list"`
		One  counted   `json:"one"`
	}
	got, err := answer.Read[of](shapeOf[of](t), nil, `{"list":[1,{"a":2}],"one":"x"}`)
	require.NoError(t, err)
	assert.Equal(t, of{List: []counted{{1}, {1}}, One: counted{1}}, got)

	want, text := largeAnswer(200)
	shape := shapeOf[findings](t)
	read, err := answer.Read[findings](shape, nil, text)
	require.NoError(t, err)
	assert.Equal(t, want, read)
	find := testing.AllocsPerRun(5, func() {
		if _, err := shape.Find(nil, text); err != nil {
			t.Error(err)
		}
	})
	whole := testing.AllocsPerRun(5, func() {
		if _, err := answer.Read[findings](shape, nil, text); err != nil {
			t.Error(err)
		}
	})
	assert.Less(t, whole, find, "to read a value takes less than to find it and to write it as JSON")
}

// A schema is compiled once, and the texts that a program makes up do not fill the memory.
func TestSchemasAreCompiledOnce(t *testing.T) {
	schema := `{"type":"integer","minimum":`
	first, err := answer.FromSchema(json.RawMessage(schema + `1}`))
	require.NoError(t, err)
	again, err := answer.FromSchema(json.RawMessage(schema + `1}`))
	require.NoError(t, err)
	assert.Same(t, first, again)
	for i := range 1000 {
		s, err := answer.FromSchema(json.RawMessage(fmt.Sprintf("%s%d}", schema, i)))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%s%d}", schema, i), string(s.JSON()))
		require.NoError(t, s.Check(json.RawMessage(fmt.Sprint(i))))
		require.Error(t, s.Check(json.RawMessage(fmt.Sprint(i-1))))
	}
	_, err = answer.FromSchema(json.RawMessage("{"))
	require.Error(t, err)
}
