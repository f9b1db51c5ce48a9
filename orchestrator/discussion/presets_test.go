package discussion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
)

func TestPresetsRefuse(t *testing.T) {
	t.Parallel()
	type names = map[discussion.Role]string
	for _, tt := range []struct {
		name string
		cfg  discussion.Config
		want string
	}{
		{"DC42 a mistyped role", discussion.Full(names{"critik": "x"}), `discussion: Full has no role "critik": did you mean "critic"?`},
		{"DC42 a mistyped role of another preset", discussion.Standard(names{"critik": "x"}), `discussion: Standard has no role "critik": did you mean "critic"?`},
		{"DC42 a role of other presets", discussion.Standard(names{discussion.Critic: "x"}), `discussion: Standard has no role "critic": want Extended or Full`},
		{"DC42 a role of one other preset", discussion.Extended(names{discussion.Implementer: "x"}), `discussion: Extended has no role "implementer": want Full`},
		{"DC42 a role of none", discussion.Vote(names{"cfo": "x", "UI_creator": "y"}), "discussion: Vote has no role \"UI_creator\": did you mean \"ui_creator\"?\nVote has no role \"cfo\": add the member to Config.Team"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := discussion.New(tt.cfg)
			require.EqualError(t, err, tt.want)
		})
	}
	t.Run("DC42 roles that they have", func(t *testing.T) {
		for _, preset := range []func(map[discussion.Role]string) discussion.Config{discussion.Standard, discussion.Extended, discussion.Full, discussion.Vote} {
			cfg := preset(nil)
			all := names{}
			for _, m := range cfg.Team {
				all[m.Role] = "x"
			}
			_, err := discussion.New(preset(all))
			require.NoError(t, err)
		}
	})
}

func TestVote(t *testing.T) {
	t.Parallel()
	t.Run("DC43 ideas once, scored once, no talk", func(t *testing.T) {
		d := debate{cfg: discussion.Vote(nil)}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{leader, ideation, moderator, leader}, p.roles())
		assert.Equal(t, []string{"kickoff", "ideation", "validation", "selection"}, p.types())
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, "Game night", p.out.FinalIdea.Title)
		assert.Equal(t, discussion.ByScore, p.out.SelectedBy)
		c, _ := d.open(t)
		c.Sweep(t)
	})
	t.Run("DC43 few ideas are not asked for again", func(t *testing.T) {
		p := debate{cfg: discussion.Vote(nil), cast: cast{discussion.Ideation: {ideas("Alpha")}, discussion.Moderator: {scores(7)}}}.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.asked, 4)
		assert.Empty(t, p.out.Warnings)
	})
}
