package dialect_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

// zeroAtNoon has an IsZero of its own.
type zeroAtNoon struct{ Hour int }

func (z zeroAtNoon) IsZero() bool { return z.Hour == 12 }

// Each option leaves out what encoding/json leaves out.
func TestOmitted(t *testing.T) {
	type empty struct {
		B bool            `json:"b,omitempty"`
		I int             `json:"i,omitempty"`
		U uint8           `json:"u,omitempty"`
		F float64         `json:"f,omitempty"`
		S string          `json:"s,omitempty"`
		P *int            `json:"p,omitempty"`
		L []int           `json:"l,omitempty"`
		M map[string]int  `json:"m,omitempty"`
		A [1]int          `json:"a,omitempty"`
		N [0]int          `json:"n,omitempty"`
		O struct{ X int } `json:"o,omitempty"` //nolint:modernize // has no effect: that is the test
		E any             `json:"e,omitempty"`
		T time.Time       `json:"t,omitempty"` //nolint:modernize // has no effect: that is the test
	}
	type zero struct {
		L []int           `json:"l,omitzero"`
		M map[string]int  `json:"m,omitzero"`
		A [2]int          `json:"a,omitzero"`
		O struct{ X int } `json:"o,omitzero"`
		P *int            `json:"p,omitzero"`
		T time.Time       `json:"t,omitzero"`
		Z zeroAtNoon      `json:"z,omitzero"`
		Q *zeroAtNoon     `json:"q,omitzero"`
		B []int           `json:"b,omitempty,omitzero"`
	}
	same(t, "all empty", empty{})
	same(t, "lists and maps that are empty and not nil", empty{L: []int{}, M: map[string]int{}})
	same(t, "none empty", empty{
		B: true, I: -1, U: 1, F: 0.5, S: " ", P: new(0), L: []int{0}, M: map[string]int{"": 0}, A: [1]int{1},
		O: struct{ X int }{1}, E: "e", T: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC),
	})
	same(t, "all zero", zero{})
	same(t, "lists and maps that are empty are not zero", zero{L: []int{}, M: map[string]int{}, B: []int{}})
	same(t, "its own zero", zero{Z: zeroAtNoon{12}})
	same(t, "not its own zero", zero{Z: zeroAtNoon{11}, Q: &zeroAtNoon{11}})
	same(t, "a pointer to its own zero", zero{Q: &zeroAtNoon{12}})
}

// A field that is missing, or null, keeps what it has.
func TestMissingAndNull(t *testing.T) {
	type inner struct {
		Wait time.Duration `json:"wait"`
		Name string        `json:"name"`
	}
	type Common struct {
		Shared string `json:"shared"`
	}
	type value struct {
		*Common
		Flag  bool              `json:"flag"`
		Count int               `json:"count"`
		Rate  float64           `json:"rate"`
		Name  string            `json:"name"`
		Inner inner             `json:"inner"`
		List  []inner           `json:"list"`
		Map   map[string]inner  `json:"map"`
		Pair  [2]int            `json:"pair"`
		Cost  providers.NanoUSD `json:"cost"`
	}
	full := func() value {
		return value{
			Flag: true, Count: 1, Rate: 0.5, Name: "n", Inner: inner{time.Second, "i"}, List: []inner{{1, "l"}},
			Map: map[string]inner{"k": {2, "m"}}, Pair: [2]int{3, 4}, Cost: 5,
		}
	}
	for name, text := range map[string]string{
		"nothing":                 `{}`,
		"nulls":                   `{"flag":null,"count":null,"rate":null,"name":null,"inner":null,"list":null,"map":null,"pair":null}`,
		"objects without members": ` { "inner" : {} , "map" : {} } `,
		"the whole":               `null`,
	} {
		t.Run(name, func(t *testing.T) {
			got := full()
			require.NoError(t, dialect.Decode([]byte(text), &got))
			assert.Equal(t, full(), got)
		})
	}
	t.Run("a part of a part", func(t *testing.T) {
		got, want := full(), full()
		require.NoError(t, dialect.Decode([]byte(`{"inner":{"wait":2},"map":{"k":{"name":"x"}}}`), &got))
		want.Inner.Wait, want.Map["k"] = 2*time.Second, inner{Name: "x"}
		assert.Equal(t, want, got, "fields are merged; an entry of a map is new, as in encoding/json")
	})
	t.Run("an embedded pointer is made when it is needed", func(t *testing.T) {
		got := full()
		require.NoError(t, dialect.Decode([]byte(`{"count":2}`), &got))
		assert.Nil(t, got.Common)
		require.NoError(t, dialect.Decode([]byte(`{"shared":"s"}`), &got))
		assert.Equal(t, &Common{"s"}, got.Common)
	})
	t.Run("times and money have no null", func(t *testing.T) {
		got := full()
		require.EqualError(t, dialect.Decode([]byte(`{"cost":null,"inner":{"wait":null}}`), &got),
			"inner.wait is null, want a duration such as \"5m\", or a number of seconds\ncost is null, want USD with at most 9 decimals")
		assert.Equal(t, full(), got)
	})
}

// Letters are not escaped for HTML; everything else that JSON must escape is.
func TestEscapes(t *testing.T) {
	for _, text := range []string{"", "a<b>&c", "\"\\\n\t", "\u2028\x00\x7f", "é€🙂", "\xff"} {
		data, err := dialect.Encode(map[string]any{text: text})
		require.NoError(t, err)
		var got map[string]string
		require.NoError(t, json.Unmarshal(data, &got))
		want, err := json.Marshal(text)
		require.NoError(t, err)
		var plain string
		require.NoError(t, json.Unmarshal(want, &plain))
		assert.Equal(t, map[string]string{plain: plain}, got)
		assert.NotContains(t, string(data), `\u003c`)
	}
}

// The ways in which the dialect differs from encoding/json, as the package says them.
func TestOtherThanEncodingJSON(t *testing.T) {
	type odd struct {
		Text   int         `json:"text,string"`
		Number json.Number `json:"number"`
		Zero   seven       `json:"zero,omitzero"`
	}
	data, err := dialect.Encode(&odd{1, "12", 7})
	require.NoError(t, err)
	assert.JSONEq(t, `{"text":1,"number":"12","zero":7}`, string(data))
	require.EqualError(t, dialect.Decode([]byte(`{"Text":1,"number":12}`), new(odd)), "number is a JSON number, want a string\nText is unknown")
}

// seven is zero if it is 7.
type seven int

func (s *seven) IsZero() bool { return *s == 7 }
