package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

// Record with real models once, and keep the file beside the test.
func Example() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "team.jsonl")
	config := providers.RoleConfig{"writer": {{Provider: "corp", Model: "x"}}}

	ask := func(open func(providers.Spec) (providers.Model, error), text string) (string, error) {
		roles, err := providers.NewRoles(config, open)
		if err != nil {
			return "", err
		}
		m, err := roles.Model("writer")
		if err != nil {
			return "", err
		}
		resp, err := m.Generate(context.Background(), providers.Request{
			Messages: []providers.Message{{Role: providers.User, Text: text}},
		})
		return resp.Text, err
	}

	rec, err := cassette.Record(path, cassette.Options{})
	if err != nil {
		log.Fatal(err)
	}
	vendor := func(providers.Spec) (providers.Model, error) { // openai.Open(keys), say
		return fake.New(nil, fake.Text("Use a secret manager.")), nil
	}
	if _, err := ask(rec.Open(vendor), "Where do I keep sk-0123456789abcdef?"); err != nil {
		log.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		log.Fatal(err)
	}

	player, err := cassette.Play(path, cassette.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ask(player.Open, "Where do I keep sk-another-key-of-mine?"))
	_, err = ask(player.Open, "Where do I keep money?")
	fmt.Println("a miss:", errors.Is(err, cassette.ErrMiss))
	// Output:
	// Use a secret manager. <nil>
	// a miss: true
}
