package discussion

import (
	"cmp"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// The errors of runs, beside orchestrator.ErrCanceled and orchestrator.ErrBudget.
const (
	ErrRule         = agent.Code("discussion/rule")          // a rule failed, panicked or answered out of its range
	ErrNotPermitted = agent.Code("discussion/not-permitted") // Rules.Permit refused a move
	ErrInput        = agent.Code("discussion/input")         // the input has a fault, such as a blank topic
	ErrKickoff      = agent.Code("discussion/kickoff")       // the leader failed to open the discussion
	ErrNoIdeas      = agent.Code("discussion/no-ideas")      // there are no ideas to score
)

// Input is the topic of a run.
type Input struct {
	Topic    string      `json:"topic"`              // subject of the discussion; required
	Preamble []string    `json:"preamble,omitempty"` // texts of the host before the kickoff; nil: none
	Limits   team.Limits `json:"limits,omitzero"`    // limits of this run; a zero field is that of Config.Limits
}

// Outcome is the result of a run, also beside an error, with all messages until then.
// Status is
//
//   - Completed: there is a final idea, and its score meets the threshold. Without a
//     moderator, the leader's choice is enough.
//   - Partial: no idea was chosen, or the final one is Unverified: below the threshold,
//     without a score although there is a moderator, with an assumed one, or chosen ByOrder.
//     Beside a graded one Unverified has the ideas without a grade, too. They cannot win, and
//     do not change the status.
//   - OutOfBudget, with orchestrator.ErrBudget: money, calls or time were used up before
//     there was a score, or without a moderator a choice.
//   - Canceled, with orchestrator.ErrCanceled.
//   - Failed, with a code of this package.
type Outcome struct {
	orchestrator.Outcome // Score is that of FinalIdea, 0 to 10; Unverified: see Status

	Discussion     Discussion `json:"discussion"`               // all that was said
	FinalIdea      *Idea      `json:"finalIdea,omitempty"`      // idea that won; nil: none was chosen
	SelectedBy     SelectedBy `json:"selectedBy"`               // way in which it was chosen
	LeaderChoice   *Idea      `json:"leaderChoice,omitempty"`   // idea that the leader named, which need not have won; nil: none
	BelowThreshold bool       `json:"belowThreshold,omitempty"` // true: the best score did not pass the gate
	Ranking        []string   `json:"ranking,omitempty"`        // IDs of all ideas, the best first; nil: the run did not come to that
	Shortlist      []Idea     `json:"shortlist"`                // ideas that passed the gate, the best first
	Report         string     `json:"report,omitempty"`         // HTML of Rules.Report or of the ui_creator. It is not sanitised: see Page
}

// Result returns the title and the description of the final idea, or "".
func (o Outcome) Result() string {
	if o.FinalIdea == nil {
		return ""
	}
	return strings.TrimSpace(o.FinalIdea.Title + "\n\n" + o.FinalIdea.Description)
}

// SelectedBy says what chose the final idea.
type SelectedBy string

// The ways to choose the final idea.
const (
	ByScore  SelectedBy = "score"  // the idea that ranks first, by its score
	ByLeader SelectedBy = "leader" // the leader, as no idea had a score
	ByOrder  SelectedBy = "order"  // the Ranker, as no idea had a score and the leader named none; by default the first idea
	ByNone   SelectedBy = "none"   // nothing: there is no final idea
)

// Discussion is everything that was said.
type Discussion struct {
	ID          string    `json:"id"`                    // ID of the run
	Topic       string    `json:"topic"`                 // topic of the run
	Phase       Phase     `json:"phase"`                 // where the run is; at its end its status
	Round       int       `json:"round"`                 // last round that was begun, from 1; 0: none
	Rounds      int       `json:"rounds"`                // Rounds.Max
	Threshold   float64   `json:"threshold"`             // Policy.Threshold
	Messages    []Message `json:"messages"`              // contributions, in order
	Ideas       []Idea    `json:"ideas"`                 // ideas, in the order in which they were proposed
	FinalIdeaID string    `json:"finalIdeaID,omitempty"` // ID of the final idea; "": none
	Started     time.Time `json:"started"`               // time of the start
	Ended       time.Time `json:"ended,omitzero"`        // time of the end; zero: it has not ended
}

// Message is one contribution.
type Message struct {
	ID        string          `json:"id"`              // msg-1, msg-2, …
	From      Role            `json:"from"`            // role of the author, or System for the host's preamble
	By        string          `json:"by,omitempty"`    // ID of the author; "": that of the role
	To        string          `json:"to"`              // "team"
	Content   string          `json:"content"`         // text, or JSON
	Type      MessageType     `json:"type"`            // kind of contribution
	Timestamp time.Time       `json:"timestamp"`       // time when it was made
	Round     int             `json:"round,omitempty"` // number of the round; 0: outside of the rounds
	Turn      int             `json:"turn,omitempty"`  // number of the author's turn in the round; 2 or more: a deep dive
	Usage     providers.Usage `json:"usage,omitzero"`  // usage of the calls that it took
}

// author returns the ID of the member who is the author.
func (m Message) author() string { return cmp.Or(m.By, string(m.From)) }

// MessageType says what a message is: preamble, kickoff, synthesis, validation, selection,
// visualization, or the role of a member who had its turn in a round.
type MessageType string

// Idea is a proposal, with its evaluation.
type Idea struct {
	ID          string             `json:"id"`                    // idea-1, idea-2, …; never a model's
	Title       string             `json:"title"`                 // name of the idea
	Description string             `json:"description,omitempty"` // idea in words; "": the title says all
	Category    string             `json:"category,omitempty"`    // category that its author gave; "": none
	CreatedBy   string             `json:"createdBy"`             // ID of its author
	Round       int                `json:"round"`                 // round in which it was proposed
	Pros        []string           `json:"pros,omitempty"`        // points for it
	Cons        []string           `json:"cons,omitempty"`        // points against it
	Feedback    string             `json:"feedback,omitempty"`    // grader's advice in words; "": none
	Criteria    map[string]float64 `json:"criteria,omitempty"`    // marks, 0 to 10, by criterion
	Score       float64            `json:"score"`                 // score, 0 to 10, if Validated or Assumed
	Validated   bool               `json:"validated"`             // true: it was graded
	Assumed     bool               `json:"assumed,omitempty"`     // true: Score is Policy.AssumeScore
	Eligible    bool               `json:"eligible"`              // true: its score has passed the gate
}

// State is what a run exposes while it runs.
type State struct {
	Phase    Phase  `json:"phase"`              // where the run is
	Round    int    `json:"round"`              // last round that was begun; 0: none
	Rounds   int    `json:"rounds"`             // Rounds.Max
	Speaking string `json:"speaking,omitempty"` // ID of the member whose turn it is; "": none
	Messages int    `json:"messages"`           // number of messages
	Ideas    int    `json:"ideas"`              // number of ideas
	Best     string `json:"best,omitempty"`     // title of the final idea; "": none yet
}
