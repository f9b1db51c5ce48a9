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
	if creator || r.cfg.Hooks.Report != nil {
		r.fire(c, "to_report")
	}
	if !creator {
		return nil
	}
	m, err := r.say(c, turn{role: UICreator, kind: TypeVisualization, prompt: "report.tmpl"})
	if r.out.Report = unfence(m.Content); err == nil && r.out.Report == "" {
		err = errSilent
	}
	switch {
	case err == nil:
	case !team.Ends(err):
		r.warn(c, WarnReportFailed, string(UICreator), err.Error())
	case r.spent(c, err):
		r.warn(c, WarnBudget, string(UICreator), err.Error())
	default:
		return err
	}
	return nil
}

// report lets the host make its report.
func (r *run) report(c *orchestrator.Context) {
	if r.cfg.Hooks.Report == nil {
		return
	}
	html, err := team.Guard("Hooks.Report", func() (string, error) { return r.cfg.Hooks.Report(r.out) })
	if err != nil {
		r.warn(c, WarnReportFailed, "", err.Error())
		return
	}
	r.out.Report = html
}

var fence = regexp.MustCompile("(?s)^```[a-zA-Z]*\\s*\n(.*?)\n?\\s*```$")

// unfence is the text in a fence of Markdown, or the text.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if in := fence.FindStringSubmatch(text); in != nil {
		return strings.TrimSpace(in[1])
	}
	return text
}
