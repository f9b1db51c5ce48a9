package answer_test

import (
	"fmt"

	"github.com/convene-go/convene/internal/answer"
)

func ExampleShape_Find() {
	type review struct {
		Score float64  `json:"score" jsonschema:"how good the text is" min:"0" max:"10"`
		Risk  string   `json:"risk" enum:"low,high"`
		Notes []string `json:"notes,omitempty"`
	}
	shape, err := answer.For[review]()
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := shape.Find(nil, "My review {draft}:\n```json\n{'Score': '8.5', 'risk': 'Low', 'notes': 'short',}\n```")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", found)
	_, err = shape.Find(nil, `{"score": 85, "risk": "low"}`)
	fmt.Println(err)
	_, err = shape.Find(nil, `{"score": 8.5, "risk": "lo`)
	fmt.Println(err)
	// Output:
	// {"notes":["short"],"risk":"low","score":8.5}
	// /score: want {"type":"number","minimum":0,"maximum":10}, got 85
	// the JSON in the answer is cut off
}
