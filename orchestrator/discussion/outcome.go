package discussion

import (
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// The errors of runs, beside orchestrator.ErrCanceled and orchestrator.ErrBudget.
const (
	ErrEmptyTopic    = agent.Code("discussion/empty-topic")     // the topic is blank
	ErrTopicTooLarge = agent.Code("discussion/topic-too-large") // it exceeds Limits.TopicBytes
	ErrBadTopic      = agent.Code("discussion/bad-topic")       // it is not UTF-8, or has control characters
	ErrBadPreamble   = agent.Code("discussion/bad-preamble")    // a text of Input.Preamble is blank
	ErrKickoff       = agent.Code("discussion/kickoff")         // the leader failed to open the discussion
	ErrNoIdeas       = agent.Code("discussion/no-ideas")        // the moderator has no ideas to score
)

// The codes of warnings. Who is a role, an idea's ID, or "".
const (
	WarnAgentFailed    = "discussion/agent-failed"    // a member failed, and the run continued without it
	WarnIdeasUnparsed  = "discussion/ideas-unparsed"  // an answer has no ideas that can be read; it is kept as a message
	WarnIdeaDropped    = "discussion/idea-dropped"    // it has no title, or exceeds Limits.IdeasPerCall
	WarnFewIdeas       = "discussion/few-ideas"       // less than Policy.MinIdeas
	WarnUngraded       = "discussion/ungraded"        // of the moderator: no grades; of an idea: no grade for it
	WarnAssumedScore   = "discussion/assumed-score"   // an idea has Policy.AssumeScore
	WarnUnknownIdea    = "discussion/unknown-idea"    // an evaluation names no known idea
	WarnBadMark        = "discussion/bad-mark"        // a mark of an idea was dropped: it is no number of 0 to 10
	WarnBelowThreshold = "discussion/below-threshold" // the best score is below the threshold
	WarnFallback       = "discussion/fallback"        // the leader's choice is used, because scores are missing
	WarnNoChoice       = "discussion/no-choice"       // there is no final idea
	WarnReportFailed   = "discussion/report-failed"   // of the ui_creator, or of Hooks.Report
	WarnBudget         = "discussion/budget"          // a step that is not needed for a result was skipped
)

// Input is the topic of a run.
type Input struct {
	Topic    string   `json:"topic"`
	Preamble []string `json:"preamble,omitempty"` // what the host says before the kickoff
}

// Outcome is the result of a run, also beside an error, with all messages until then.
// Status is
//
//   - Completed: there is a final idea, and its score meets the threshold. Without a
//     moderator, the leader's choice is enough.
//   - Partial: no idea was chosen, or the final one is Unverified: below the threshold,
//     without a score, or with an assumed one.
//   - OutOfBudget, with orchestrator.ErrBudget: money, calls or time were used up before
//     there was a score, or without a moderator a choice.
//   - Canceled, with orchestrator.ErrCanceled.
//   - Failed, with a code of this package.
type Outcome struct {
	orchestrator.Outcome // Score is that of FinalIdea, 0 to 10; Unverified has its ID

	Discussion     Discussion `json:"discussion"`
	FinalIdea      *Idea      `json:"finalIdea,omitempty"`      // nil: none was chosen
	SelectedBy     SelectedBy `json:"selectedBy"`               // what chose it
	LeaderChoice   *Idea      `json:"leaderChoice,omitempty"`   // the one that the leader named, which need not have won
	BelowThreshold bool       `json:"belowThreshold,omitempty"` // the best score is below Policy.Threshold
	Shortlist      []Idea     `json:"shortlist"`                // scored at or above the threshold, the best first
	Report         string     `json:"report,omitempty"`         // HTML of Hooks.Report or of the ui_creator. It is not sanitised: see Page
}

// SelectedBy says what chose the final idea.
type SelectedBy string

// The ways to choose the final idea.
const (
	ByScore  SelectedBy = "score"  // the highest
	ByLeader SelectedBy = "leader" // no idea had a score
	ByNone   SelectedBy = "none"   // there is no final idea
)

// Discussion is everything that was said. It has a JSON form.
type Discussion struct {
	ID          string    `json:"id"` // the run's
	Topic       string    `json:"topic"`
	Phase       Phase     `json:"phase"` // Completed, Partial, OutOfBudget, Failed or Canceled at its end
	Round       int       `json:"round"` // the last that was begun, from 1; 0: none
	Rounds      int       `json:"rounds"`
	Threshold   float64   `json:"threshold"` // Policy.Threshold
	Messages    []Message `json:"messages"`
	Ideas       []Idea    `json:"ideas"` // in the order in which they were proposed; see Ranking
	FinalIdeaID string    `json:"finalIdeaID,omitempty"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended,omitzero"`
}

// Message is one contribution.
type Message struct {
	ID        string          `json:"id"`   // msg-1, msg-2, …
	From      Role            `json:"from"` // or System, for the host's preamble
	To        string          `json:"to"`   // "team"
	Content   string          `json:"content"`
	Type      MessageType     `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Round     int             `json:"round,omitempty"` // 0: outside of the rounds
	Turn      int             `json:"turn,omitempty"`  // of its author in the round; 2 or more: a deep dive
	Usage     providers.Usage `json:"usage,omitzero"`  // of the calls that it took
}

// MessageType says what a message is.
type MessageType string

// The types of messages.
const (
	TypePreamble      MessageType = "preamble"
	TypeKickoff       MessageType = "kickoff"
	TypeIdeation      MessageType = "ideation"
	TypeResearcher    MessageType = "researcher"
	TypeCritic        MessageType = "critic"
	TypeImplementer   MessageType = "implementer"
	TypeSynthesis     MessageType = "synthesis"
	TypeValidation    MessageType = "validation"
	TypeSelection     MessageType = "selection"
	TypeVisualization MessageType = "visualization"
)

// Idea is a proposal, with the moderator's evaluation.
type Idea struct {
	ID          string   `json:"id"` // idea-1, idea-2, …; never a model's
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	CreatedBy   Role     `json:"createdBy"`
	Round       int      `json:"round"`
	Pros        []string `json:"pros,omitempty"`
	Cons        []string `json:"cons,omitempty"`
	Feedback    string   `json:"feedback,omitempty"`
	Criteria    Criteria `json:"criteria,omitempty"`
	Score       float64  `json:"score"` // 0 to 10, if Validated or Assumed
	Validated   bool     `json:"validated"`
	Assumed     bool     `json:"assumed,omitempty"` // Score is Policy.AssumeScore
	Eligible    bool     `json:"eligible"`          // its score meets Policy.Threshold
}

// State is what a run exposes while it runs.
type State struct {
	Phase    Phase  `json:"phase"`
	Round    int    `json:"round"`
	Rounds   int    `json:"rounds"`
	Speaking Role   `json:"speaking,omitempty"`
	Messages int    `json:"messages"`
	Ideas    int    `json:"ideas"`
	Best     string `json:"best,omitempty"` // title of the final idea
}
