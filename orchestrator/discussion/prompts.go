package discussion

import (
	"embed"
	"io/fs"

	"github.com/convene-go/convene/internal/prompt"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// What the templates are filled with: every one gets the same.
type promptData struct {
	Context string   // what BuildContext makes
	Topic   string   // of kickoff.tmpl
	Size    int      // of the team, all members (DC6)
	Members []string // whom the leader directs (D9)
	Round   int
	Rounds  int
	Missing int   // of topup.tmpl: how many ideas are still wanted
	Final   *Idea // of report.tmpl; nil: there is none
	Scored  bool  // of select.tmpl: ideas have scores
}

// The templates, by step.
const (
	kickoffPrompt    = "kickoff.tmpl"
	researchPrompt   = "research.tmpl"
	ideatePrompt     = "ideate.tmpl"     // in round 1 (D14)
	improvePrompt    = "improve.tmpl"    // from round 2 on (D15)
	topUpPrompt      = "topup.tmpl"      // for ideas that are missing (DC3)
	criticizePrompt  = "criticize.tmpl"  // D18
	implementPrompt  = "implement.tmpl"  // D19
	answerPrompt     = "answer.tmpl"     // ideation to the critic (DC4)
	replyPrompt      = "reply.tmpl"      // the critic to ideation (DC4)
	synthesizePrompt = "synthesize.tmpl" // D20
	validatePrompt   = "validate.tmpl"   // D22
	selectPrompt     = "select.tmpl"     // D29
	reportPrompt     = "report.tmpl"     // D32
)

func newPrompts(host fs.FS) (prompt.Set, error) {
	own, err := fs.Sub(ownPrompts, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	samples := map[string][]any{}
	for _, name := range []string{
		kickoffPrompt, researchPrompt, ideatePrompt, improvePrompt, topUpPrompt, criticizePrompt, implementPrompt,
		answerPrompt, replyPrompt, synthesizePrompt, validatePrompt, selectPrompt, reportPrompt,
	} {
		samples[name] = []any{
			promptData{Members: []string{"m"}, Round: 1, Rounds: 1, Missing: 1, Final: &Idea{Title: "t"}, Scored: true},
			promptData{Missing: 2},
		}
	}
	return prompt.New(prompt.Source{Own: own, Host: host, Samples: samples})
}
