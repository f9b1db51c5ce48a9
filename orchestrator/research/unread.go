package research

import (
	"encoding/json"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// maxUnread is how many pages of one answer are warnings.
const maxUnread = 100

// unread warns of the pages that a worker's findings name as not read.
func (r *run) unread(c *orchestrator.Context, made WorkerOutput) {
	var f Findings
	if json.Unmarshal(made.Payload, &f) != nil {
		return
	}
	for _, u := range f.Unread[:min(len(f.Unread), maxUnread)] {
		r.warn(c, "unread", made.Worker, "%s: %s", prompt.OneLine(withoutUser(strings.TrimSpace(u.URL))), prompt.OneLine(u.Reason))
	}
}
