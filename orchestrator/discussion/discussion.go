package discussion

import (
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// The errors of runs, beside orchestrator.ErrCanceled and orchestrator.ErrBudget.
const (
	ErrEmptyTopic    = agent.Code("discussion/empty-topic")     // the topic is blank (DX3)
	ErrTopicTooLarge = agent.Code("discussion/topic-too-large") // it exceeds Limits.TopicBytes (DX3)
	ErrBadTopic      = agent.Code("discussion/bad-topic")       // it is no text: not UTF-8, or with control characters
	ErrBadPreamble   = agent.Code("discussion/bad-preamble")    // Input.Preamble has a message without content
	ErrKickoff       = agent.Code("discussion/kickoff")         // the leader failed to open the discussion (DC10)
	ErrNoIdeas       = agent.Code("discussion/no-ideas")        // there is nothing for the moderator to score (D28)
	ErrValidation    = agent.Code("discussion/validation")      // the moderator failed (DC11)
)

// Input is what a run is about.
type Input struct {
	Topic    string    `json:"topic"`
	Preamble []Message `json:"preamble,omitempty"` // what the host says before the kickoff, from "system"; only Content counts (DC8)
}

// Outcome is what came of a run. It is there beside an error, too, with what was said
// until then (DX2).
type Outcome struct {
	orchestrator.Outcome // Score is that of FinalIdea, 0 to 10

	Discussion     Discussion `json:"discussion"`
	FinalIdea      *Idea      `json:"finalIdea,omitempty"`      // nil: none was chosen
	SelectedBy     SelectedBy `json:"selectedBy"`               // what chose it (DC14)
	LeaderChoice   *Idea      `json:"leaderChoice,omitempty"`   // the one that the leader named, which need not have won (DC19)
	BelowThreshold bool       `json:"belowThreshold,omitempty"` // the best score is below Config.MinScoreThreshold (DC2)
	Shortlist      []Idea     `json:"shortlist"`                // scored at or above the threshold, the best first (DC2)
	Report         string     `json:"report,omitempty"`         // HTML of the ui_creator or of Config.Reporter. It is not sanitised: see Page
	Warnings       []Warning  `json:"warnings,omitempty"`       // what went wrong without ending the run (DX16)
}

// SelectedBy says what chose the final idea (DC14).
type SelectedBy string

// The ways to choose the final idea.
const (
	ByScore  SelectedBy = "score"  // the highest
	ByLeader SelectedBy = "leader" // no idea had a score
	ByNone   SelectedBy = "none"   // there is no final idea
)

// Discussion is all that was said. It has a JSON form.
type Discussion struct {
	ID          string    `json:"id"` // the run's
	Topic       string    `json:"topic"`
	Status      Status    `json:"status"`
	Round       int       `json:"round"` // the last that was begun, from 1; 0: none
	MaxRounds   int       `json:"maxRounds"`
	Threshold   float64   `json:"threshold"` // Config.MinScoreThreshold
	Messages    []Message `json:"messages"`
	Ideas       []Idea    `json:"ideas"` // in the order in which they were proposed
	FinalIdeaID string    `json:"finalIdeaID,omitempty"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended,omitzero"`
}

// Status is where a discussion is (DC25).
type Status string

// The statuses of a discussion.
const (
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCanceled  Status = "canceled"
)

// Message is one contribution (D36).
type Message struct {
	ID        string          `json:"id"`   // msg-1, msg-2, …
	From      Role            `json:"from"` // or "system", for the host's preamble
	To        string          `json:"to"`   // "team"
	Content   string          `json:"content"`
	Type      MessageType     `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Round     int             `json:"round,omitempty"` // 0: outside of the rounds
	Turn      int             `json:"turn,omitempty"`  // of its author in the round; from 2 on a deep dive (DC4)
	Usage     providers.Usage `json:"usage,omitzero"`  // of the calls that it took (DX13)
}

// MessageType says what a message is (D37).
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

// Idea is a proposal, with what the moderator made of it.
type Idea struct {
	ID          string            `json:"id"` // idea-1, idea-2, …; never a model's (DX8)
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Category    string            `json:"category,omitempty"`
	CreatedBy   Role              `json:"createdBy"`
	Round       int               `json:"round"`
	Pros        []string          `json:"pros,omitempty"`
	Cons        []string          `json:"cons,omitempty"`
	Feedback    string            `json:"feedback,omitempty"`
	Criteria    *grading.Criteria `json:"criteria,omitempty"`
	Score       float64           `json:"score"` // 0 to 10, if Validated
	Validated   bool              `json:"validated"`
	Eligible    bool              `json:"eligible"` // its score meets Config.MinScoreThreshold
}

// Warning is something that went wrong without ending the run (DX16).
type Warning struct {
	Code    string `json:"code"` // such as "agent.failed" or "ideas.below_minimum"
	Role    Role   `json:"role,omitempty"`
	Round   int    `json:"round,omitempty"` // 0: outside of the rounds
	Message string `json:"message"`
}

// Reporter makes a report of a finished discussion without a model. It is a pure
// function. [HTML] is one.
type Reporter interface {
	Report(o Outcome) (html string, err error)
}

// State is what a run exposes while it goes on.
type State struct {
	Phase    Phase  `json:"phase"`
	Round    int    `json:"round"`
	Rounds   int    `json:"rounds"`
	Speaking Role   `json:"speaking,omitempty"`
	Messages int    `json:"messages"`
	Ideas    int    `json:"ideas"`
	Best     string `json:"best,omitempty"` // title of the final idea
}
