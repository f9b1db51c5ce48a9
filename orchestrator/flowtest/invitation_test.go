package flowtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// Sent is the result of an invitation.
type Sent struct {
	Letters []string
	Took    time.Duration
}

// invite writes a letter to each guest, asks a person for approval, and sends the
// letters a day later.
var invite = orchestrator.Flow[[]string, Sent]{
	Name: "invite", Agents: []string{"writer", "mailer"},
	Do: func(c *orchestrator.Context, guests []string) (Sent, error) {
		letters, err := orchestrator.Values(orchestrator.Map(c, guests, 2, func(c *orchestrator.Context, guest string) (string, error) {
			resp, err := c.Call("writer", agent.Request{Prompt: "Invite " + guest})
			return resp.Text, err
		}))
		if err != nil {
			return Sent{}, err
		}
		approved, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "approve", Timeout: 48 * time.Hour})
		if err != nil || !approved {
			return Sent{}, err
		}
		if err := c.Sleep(24 * time.Hour); err != nil {
			return Sent{}, err
		}
		for _, letter := range letters {
			if _, err := c.Call("mailer", agent.Request{Prompt: letter}); err != nil {
				return Sent{}, err
			}
		}
		return Sent{Letters: letters, Took: c.Elapsed()}, nil
	},
}

// invitation is a case whose writer first fails for Bob, and whose mailer is kept for
// the test to look at.
func invitation(mailer **flowtest.Script) *flowtest.Case[[]string, Sent] {
	c := flowtest.New(invite, []string{"Ann", "Bob"}, func(t testing.TB) agent.Roster {
		busy := agent.Transient(agent.Code("acme/busy"), time.Minute)
		*mailer = flowtest.NewScript(t).On("", "sent")
		return agent.Roster{
			"writer": flowtest.NewScript(t).
				On("Ann", "Dear Ann").
				On("Bob", flowtest.Fail(1, busy, "Dear Bob")),
			"mailer": *mailer,
		}
	})
	c.Answers = map[string]any{"approve": true}
	return c
}

func TestInvitation(t *testing.T) {
	var mailer *flowtest.Script
	out, _, err := invitation(&mailer).Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"Dear Ann", "Dear Bob"}, out.Letters)
	assert.Equal(t, 24*time.Hour+time.Minute, out.Took.Truncate(time.Minute), "the writer's minute and the day")
	assert.Equal(t, "Dear Bob", mailer.Requests()[1].Prompt)
}

func TestInvitationWithoutApproval(t *testing.T) {
	var mailer *flowtest.Script
	c := invitation(&mailer)
	c.Answers = nil
	_, _, err := c.Run(t)
	require.ErrorIs(t, err, orchestrator.ErrTimeout)
	assert.Empty(t, mailer.Requests())
}

func TestInvitationIsKilled(t *testing.T) {
	var mailer *flowtest.Script
	invitation(&mailer).Sweep(t)
}

func TestInvitationInAnyOrder(t *testing.T) {
	var mailer *flowtest.Script
	invitation(&mailer).Determinism(t)
}
