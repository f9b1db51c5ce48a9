package discussion

import "embed"

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is the data of every template; the package comment describes the fields.
type promptData struct {
	Context string // text of BuildContext; that of agents and users in it is delimited
	Size    int
	Members []string
	Round   int
	Rounds  int
	Missing int
	Only    []string
	Final   *Idea
	Scored  bool

	Criteria []string

	Name string // name of the member that the prompt is for
	Role string // role of that member, in words
}

// samples fill each template with all fields, and with as few as possible.
func samples() map[string][]any {
	samples := map[string][]any{}
	files, _ := ownPrompts.ReadDir("prompts") // an error leaves templates without samples
	for _, file := range files {
		samples[file.Name()] = []any{
			promptData{Members: []string{"m"}, Round: 1, Rounds: 1, Missing: 1, Only: []string{"idea-1"}, Final: &Idea{Title: "t"}, Scored: true, Criteria: []string{"clarity", "cost"}, Name: "m", Role: "r"},
			promptData{Missing: 2},
		}
	}
	return samples
}
