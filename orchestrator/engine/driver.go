package engine

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Driver is what every engine does. It is safe for concurrent use. Where a method takes
// a Program, nil stands for the program that the engine has for the run's flow.
//
// [Watcher], [Deleter], [Asker] and [Surveyor] are optional: package orchestrator finds
// them by a type assertion. A caller who needs one that the engine lacks gets an error that wraps
// [errors.ErrUnsupported]. A method that cannot work, for want of a store that can,
// returns such an error too.
type Driver interface { //nolint:interfacebloat // package orchestrator needs all of them
	// Start begins a run of p and returns when its start is on record. A run that is
	// known already is ErrExists, naming the first field that differs, unless flow,
	// input, budget, labels, parent and continuedFrom are the same: then it is resumed
	// if no process works on it. wait is Wait for this run; it finds the end also where
	// the engine has forgotten the run since.
	Start(ctx context.Context, p *Program, in Input) (wait func(context.Context) (End, error), err error)

	// Wait returns how the run ended. A run that no process works on is resumed. When
	// the run stops here without an end, is stuck after the engine has tried it, or
	// ctx is done, that is an error.
	Wait(ctx context.Context, run string, p *Program) (End, error)

	// Tell gives a command to a run, wherever it is worked on, and returns when it is
	// kept.
	Tell(ctx context.Context, run string, c Command) error

	// Resume resumes the runs that no process works on, and, with a store that knows
	// which engines are alive, keeps doing so until Close.
	Resume(ctx context.Context) (Resumed, error)

	// Close stops all runs where they are and leaves no goroutine but those of agents
	// that do not return; its error names these. drain: calls under way may finish
	// first.
	Close(ctx context.Context, drain bool) error

	// Look tells where the run is, and what it has used.
	Look(ctx context.Context, run string) (View, error)

	// Log yields the records of a run from Seq from on that are there now. An unknown
	// run has none.
	Log(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error]

	// List yields the runs that q selects, newest first, without Questions and figures. A
	// run whose start is on record is found by its ID at once.
	List(ctx context.Context, q runlog.Query) iter.Seq2[View, error]
}

// Watcher is a Driver that shows what a run does now. Without it, Run.State and
// Run.Progress fail, Run.Events fails behind the last record of a run that has not
// ended, and Flow.Run waits at most a second for a run that it has canceled.
type Watcher interface {
	// Changed blocks until the run has a record of Seq from or later, or has ended.
	// It returns ErrStopped if the engine is closed, and the error of ctx if that is
	// done.
	Changed(ctx context.Context, run string, from int64) error

	// State is what the flow exposes now, or at its end. A flow that exposes nothing is
	// ErrNoState.
	State(ctx context.Context, run string) (json.RawMessage, error)

	// Watch yields what the agents of a run and of its children report from now on, off
	// the record, until the run has ended or is stuck, the engine is closed, or ctx is
	// done. A reader that is slow misses some. A run that no engine works on, or none
	// that can be asked, is ErrStopped, or ErrNoRun.
	Watch(ctx context.Context, run string) iter.Seq2[agent.Progress, error]
}

// Deleter is a Driver that forgets runs. Without it, Engine.Delete and Engine.Prune fail.
type Deleter interface {
	// Delete forgets a run and its children. A run that is worked on is ErrRunning.
	Delete(ctx context.Context, run string) error

	// Prune forgets ended runs that q selects, children with them, and returns how
	// many. Open runs and children of open ones stay.
	Prune(ctx context.Context, q runlog.Query) (int, error)
}

// Asker is a Driver that finds one question of a run without reading the others.
// Without it, Run.Answer reads all questions of the run by Look.
type Asker interface {
	// Question returns the question that was asked last under key, with its Hash; zero:
	// none was. It is open if it waits for an answer. An unknown run is ErrNoRun.
	Question(ctx context.Context, run, key string) (q Ask, open bool, err error)
}

// Surveyor is a Driver that finds the questions of all runs. Without it, Engine.Questions
// fails.
type Surveyor interface {
	// OpenAsks yields the questions that wait for an answer and that q selects, oldest
	// first, also those of runs that no engine works on. Data of each is an [Ask].
	OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error]
}

// View is where a run is.
type View struct {
	runlog.Listing
	Status    Status // status of the run, never ""
	Questions []Ask  // questions that wait for an answer

	// The figures of the run, by all of its log or, at least, by all records that were
	// there when Look was called. A driver may leave them out: with a nil ByAgent, package
	// orchestrator reads the log.
	Spent         providers.Usage            // usage, without calls under way
	Lost          Lost                       // lost calls, which are not in Spent
	ByAgent       map[string]providers.Usage // Spent by agent, that of children by flow; nil: the figures are left out
	Outcome       json.RawMessage            // orchestrator.Outcome of an ended run; nil: it has none, or has not ended
	ContinuedFrom string                     // ended run that it continues; "": none
}

// Resumed is what came of Driver.Resume.
type Resumed struct {
	Runs []string // IDs of the runs that this engine works on now
	Held []Held   // runs that other engines work on
}

// Held is a run that another engine works on.
type Held struct {
	ID    string    // ID of the run
	Owner string    // engine that works on it
	Since time.Time // time of the run's last record
}

// Command is what a host tells a run.
type Command struct {
	Kind CommandKind     // act that is wanted, never 0
	Key  string          // key of the question that AnswerIt answers; else ""
	Data json.RawMessage // AnsweredData for AnswerIt, reason as a JSON string for CancelIt; else nil

	// Hash is the hash of the question for which the answer of AnswerIt was checked: where
	// another one is asked now, the command is ErrChanged. "": none was asked.
	Hash string
}

// CommandKind says what a [Command] wants.
type CommandKind uint8

// The kinds of commands. Retry executes the flow of a stuck run again.
const (
	AnswerIt CommandKind = iota + 1
	CancelIt
	RetryIt
)
