package answer_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/convene-go/convene/internal/answer"
)

// findings are what models of teams are asked for: lists of structs with texts and numbers.
type findings struct {
	Title string    `json:"title"`
	Parts []finding `json:"parts"`
	Notes []string  `json:"notes,omitempty"`
	Seen  map[string]int
}

type finding struct {
	ID    int      `json:"id"`
	Text  string   `json:"text"`
	Score *float64 `json:"score,omitempty"`
	Done  bool     `json:"done"`
}

// largeAnswer is an answer with n parts.
func largeAnswer(n int) (want findings, text string) {
	want = findings{Title: "all of it", Notes: []string{"<a & b>"}, Seen: map[string]int{"x": 1, "y": 2}}
	for i := range n {
		want.Parts = append(want.Parts, finding{ID: i, Text: fmt.Sprintf("the words of finding %d, \"quoted\"", i), Score: new(float64(i) / 4), Done: i%2 == 0})
	}
	data, err := json.Marshal(want)
	if err != nil {
		panic(err)
	}
	return want, "Here it is:\n```json\n" + string(data) + "\n```"
}

func BenchmarkRead(b *testing.B) {
	shape, err := answer.For[findings]()
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 1000} {
		_, text := largeAnswer(n)
		b.Run(fmt.Sprintf("%d parts", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := answer.Read[findings](shape, nil, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
