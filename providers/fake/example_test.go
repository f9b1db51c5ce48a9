package fake_test

import (
	"context"
	"fmt"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// In a test, give New the *testing.T instead of nil, and leave out Check.
func Example() {
	m := fake.New(nil, fake.Call("call-1", "search", map[string]string{"q": "convene"}), fake.Text("It means to meet."))
	m.When(fake.Rule{Text: "review", Times: 1, Answer: fake.Text("Looks good.")})

	ask := func(text string) {
		resp, err := m.Generate(context.Background(), providers.Request{
			Messages: []providers.Message{{Role: providers.User, Text: text}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range resp.ToolCalls {
			fmt.Printf("%s %s\n", c.Name, c.Input)
		}
		if resp.Text != "" {
			fmt.Println(resp.Text)
		}
	}
	ask("What does convene mean?")
	ask("Please review this.")
	ask("Found: to come together.")
	fmt.Println("script played:", m.Check() == nil)
	ask("One more?")
	// Output:
	// search {"q":"convene"}
	// Looks good.
	// It means to meet.
	// script played: true
	// fake:model: invalid: no answer is scripted for this call
}
