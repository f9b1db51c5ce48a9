// Package docs_test compiles the Go that the documents show.
package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/openai"
)

// What the page leaves to its reader.
var (
	key, other string
	file, png  []byte
	config     providers.Config
	forecast   func(ctx context.Context, city string) (string, error)
)

type City struct{ Name string }

// The blocks of models.md.
var _ = []any{
	func() error {
		keys := providers.Keys{"anthropic": key, "openai": other}
		open := providers.Openers{"": openai.Open(keys), "anthropic": anthropic.Open(keys)}.Open
		spec, err := providers.ParseSpec("anthropic:claude-sonnet-5-5")
		if err != nil {
			return err
		}
		m, err := open(spec)
		return use(m, err)
	},
	func(ctx context.Context, m providers.Model) error {
		temperature := 0.2
		resp, err := m.Generate(ctx, providers.Request{
			Messages: []providers.Message{
				{Role: providers.System, Text: "You describe pictures."},
				{Role: providers.User, Text: "What is this?", Parts: []providers.Part{
					{Kind: providers.ImagePart, Media: "image/png", Data: png},
					{Kind: providers.DocumentPart, URL: "https://example.com/catalogue.pdf"},
				}},
			},
			MaxTokens:   500,
			Temperature: &temperature,
			Params:      providers.Params{Effort: providers.EffortHigh, Stop: []string{"END"}},
		})
		return use(resp, err)
	},
	func(open func(providers.Spec) (providers.Model, error)) error {
		var config providers.Config
		if err := json.Unmarshal(file, &config); err != nil {
			return err
		}
		roles, err := config.Open(open)
		if err != nil {
			return err
		}
		director, err := roles.Model("director")
		return use(director, err)
	},
	func(m providers.Model, req providers.Request) error {
		most, known := providers.Estimate(m, req)
		if !known || most > providers.Dollars(0.10) {
			return errors.New("too expensive, or without a known price")
		}
		return nil
	},
	func(m providers.Model) error {
		weather, err := agent.NewTool("weather", "The weather of a city.", func(ctx context.Context, in City) (string, error) {
			return forecast(ctx, in.Name)
		})
		if err != nil {
			return err
		}
		reporter := agent.LLM{Model: m, Instructions: "You report.", Tools: []agent.Tool{weather}}
		return use(reporter, nil)
	},
	func(m, small providers.Model, tools []agent.Tool) error {
		worker := agent.LLM{Model: m, Tools: tools, Window: 200_000, Compact: agent.Compact{Model: small}}
		return use(worker, nil)
	},
	func(open func(providers.Spec) (providers.Model, error)) error {
		tape, err := cassette.Open("testdata/team.jsonl", cassette.RecordIfMissing, cassette.Options{})
		if err != nil {
			return err
		}
		roles, err := config.Open(tape.Opener(open))
		return use(roles, err)
	},
}

func use(_ any, err error) error { return err }

var block = regexp.MustCompile("(?s)```(go|json)\n(.*?)```")

func TestBlocksOfModels(t *testing.T) {
	page, err := os.ReadFile("models.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("models_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "json" {
			var c providers.Config
			if err := json.Unmarshal([]byte(m[2]), &c); err != nil {
				t.Errorf("the page's JSON: %v\n%s", err, m[2])
			} else if err := c.Validate(); err != nil {
				t.Errorf("the page's configuration: %v", err)
			}
			continue
		}
		indented := "\t\t" + strings.ReplaceAll(strings.TrimSuffix(m[2], "\n"), "\n", "\n\t\t")
		if !strings.Contains(string(source), indented+"\n") {
			t.Errorf("models_test.go does not compile this block of models.md:\n%s", m[2])
		}
	}
}

// The table of vendors names all providers of the library, and the packages that open
// them.
func TestTableOfVendors(t *testing.T) {
	page, err := os.ReadFile("models.md")
	if err != nil {
		t.Fatal(err)
	}
	err = providers.RoleConfig{"a": {{Provider: "nobody", Model: "m"}}}.Validate()
	_, list, found := strings.Cut(fmt.Sprint(err), "known: ")
	if !found {
		t.Fatalf("which providers are known is not in %q", err)
	}
	known := map[string]bool{"bedrock": true} // a module of its own: its tests open it
	names := regexp.MustCompile("`([a-z]+)`")
	for row := range strings.Lines(string(page)) {
		columns := strings.Split(row, "|")
		if len(columns) != 5 || !strings.HasPrefix(columns[2], " `providers/") {
			continue
		}
		for _, name := range names.FindAllStringSubmatch(columns[1], -1) {
			spec := providers.Spec{Provider: name[1], Model: "m"}
			keys := providers.Keys{name[1]: "k"}
			open := openai.Open(keys)
			switch {
			case name[1] == "bedrock", name[1] == "baseURL":
				continue
			case strings.Contains(columns[2], "anthropic"):
				open = anthropic.Open(keys)
			case strings.Contains(columns[3], "needs a `baseURL`"):
				spec.BaseURL = "https://name.example"
			}
			known[name[1]] = true
			if _, err := open(spec); err != nil {
				t.Errorf("the page says that %s opens %s: %v", columns[2], name[1], err)
			}
		}
	}
	for name := range strings.SplitSeq(list, ", ") {
		if !known[name] {
			t.Errorf("the page has no row for %s", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("the page has a row for %s, which is not known", name)
	}
}
