package discussion

import (
	"regexp"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// visualize lets the ui_creator make its page. Its failure, or a missing budget, does not
// end the run.
func (r *run) visualize(c *orchestrator.Context) error {
	creator := r.cfg.has(UICreator)
	if creator || r.cfg.Rules.Report != nil {
		if err := r.phases.Go(c, toReport); err != nil {
			return err
		}
	}
	if !creator {
		return nil
	}
	m, err := r.say(c, turn{role: UICreator, kind: typeVisualization, prompt: "report.tmpl"})
	if r.out.Report = unfence(m.Content); err == nil && r.out.Report == "" {
		err = team.ErrSilent
	}
	switch {
	case err == nil:
	case !team.Ends(err):
		r.Warn(c, warnReportFailed, string(UICreator), "%s", err.Error())
	case team.Broke(c, err):
		r.Warn(c, warnBudget, string(UICreator), "%s", err.Error())
	default:
		return err
	}
	return nil
}

// report lets the host make its report.
func (r *run) report(c *orchestrator.Context) {
	if r.cfg.Rules.Report == nil {
		return
	}
	html, err := team.Guard("Rules.Report", func() (string, error) { return r.cfg.Rules.Report(r.out) })
	if err != nil {
		r.Warn(c, warnReportFailed, "", "%s", err.Error())
		return
	}
	r.out.Report = html
}

var fence = regexp.MustCompile("(?s)^```[a-zA-Z]*\\s*\n(.*?)\n?\\s*```$")

// unfence returns the text in a fence of Markdown, or the text.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if in := fence.FindStringSubmatch(text); in != nil {
		return strings.TrimSpace(in[1])
	}
	return text
}
