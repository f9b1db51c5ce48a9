package discussion

import (
	"regexp"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// visualize lets the ui_creator make its page. Its failure, or a missing budget, does not
// end the run.
func (r *run) visualize(c *orchestrator.Context) error {
	creator := r.cfg.has(Report)
	if creator || r.cfg.Rules.Report != nil {
		if err := r.phases.Go(c, toReport); err != nil {
			return err
		}
	}
	if !creator {
		return nil
	}
	m, err := r.say(c, turn{by: r.cfg.who(Report), kind: "visualization", prompt: "report.tmpl"})
	if r.out.Report = unfence(m.Content); err == nil && r.out.Report == "" {
		err = team.ErrSilent
	}
	return r.without(c, Report, r.Code("report-failed"), err)
}

// without makes the failure of a member whom the run does not need, or a missing budget for
// it, a warning. It returns an error that ends the run nevertheless.
func (r *run) without(c *orchestrator.Context, duty Duty, code agent.Code, err error) error {
	switch {
	case err == nil:
		return nil
	case team.Broke(c, err):
		code = r.Code("budget")
	case team.Ends(err):
		return err
	}
	r.Warn(c, code, r.cfg.who(duty).ID, "%s", err.Error())
	return nil
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
