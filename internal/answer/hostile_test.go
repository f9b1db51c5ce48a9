package answer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile texts of about 1 MB, meant to take long.
var hostile = []struct{ name, text string }{
	{"brackets", strings.Repeat("[", 1_000_000)},
	{"closed brackets", strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)},
	{"deep objects", strings.Repeat(`{"a":`, 200_000)},
	{"deep unquoted", strings.Repeat(`{a:`, 330_000)},
	{"prose with braces", strings.Repeat("word { ", 150_000)},
	{"quote mess", `{"a": "` + strings.Repeat(`x" y "`, 170_000)},
	{"flat list cut off", `{"a":[` + strings.Repeat(`"xxxxxxxx",`, 90_000)},
	{"flat list", `{"a":1,"b":[` + strings.Repeat(`"xxxxxxxx",`, 90_000) + `"x"]}`},
	{"alternating", strings.Repeat(`{"a" `, 200_000)},
	{"open comments", strings.Repeat(`{/* `, 250_000)},
	{"open line comments", strings.Repeat(`{// `, 250_000)},
	{"open quotes", strings.Repeat(`{'`, 500_000)},
	{"smart quotes", strings.Repeat(`{“`, 250_000)},
	{"broken objects", strings.Repeat(`{"a": x}`, 125_000)},
	{"broken open objects", strings.Repeat("{\"a\": x\n", 125_000)},
	{"wrong objects", strings.Repeat(`{"b": []}`, 110_000)},
	{"citations", strings.Repeat(`[1]`, 330_000)},
	{"fences", strings.Repeat("```\n", 250_000)},
	{"fenced numbers", strings.Repeat("```\n1\n```", 100_000)},
	{"same keys", "{" + strings.Repeat(`"a":1,`, 160_000) + `"a":1}`},
	{"many keys", manyKeys()},
	{"exponents", `{"a":1,"b":[` + strings.Repeat(`1e-999999,`, 100_000) + `1]}`},
	{"escapes", `{"a":1,"b":["` + strings.Repeat(`\u0041`, 160_000) + `"]}`},
	{"invalid UTF-8", strings.Repeat("\xff{", 500_000)},
}

func manyKeys() string {
	var out strings.Builder
	out.WriteString(`{"a":1`)
	for i := range 80_000 {
		fmt.Fprintf(&out, `,"k_%d":1`, i)
	}
	return out.String() + "}"
}

// TestHostile holds the promise that reading takes linear time: the worst text
// needs a tenth of the bound on a machine with nothing else to do.
func TestHostile(t *testing.T) {
	if raceDetector {
		t.Skip("nothing here runs in parallel, and it would take a hundred times as long")
	}
	s, scalar := shapeOf[plan](t), shapeOf[bool](t)
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Find(nil, tt.text)
			if tt.name != "flat list" && tt.name != "escapes" && tt.name != "same keys" {
				require.Error(t, err)
				assert.Less(t, len(err.Error()), 600)
			}
			_, err = scalar.Find(nil, tt.text)
			require.Error(t, err)
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	s := shapeOf[plan](b)
	for _, tt := range hostile {
		b.Run(strings.ReplaceAll(tt.name, " ", "-"), func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				_, _ = s.Find(nil, tt.text)
			}
		})
	}
}

func BenchmarkTypical(b *testing.B) {
	s := shapeOf[plan](b)
	texts := []struct{ name, text string }{
		{"plain", `{"a": 1, "b": ["x"], "r": "low"}`},
		{"mended", "Sure!\n```json\n{\"a\": \"1\", \"b\": [\"x\",]}\n```"},
	}
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Find(nil, tt.text)
			}
		})
	}
}
