package discussion_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/team"
)

// board is a team with roles of the host, two of which are critics.
const board = `{
	"team": [
		{"role": "team_leader", "agent": "chair"},
		{"role": "cfo", "agent": "carla", "name": "Carla", "task": "What does it cost, and what does it earn?"},
		{"role": "ideation", "agent": "ida"},
		{"role": "critic", "agent": "cleo", "task": "Doubt the market only."},
		{"role": "critic", "agent": "carl"},
		{"role": "security officer", "agent": "sam", "id": "sam", "duty": "speak"},
		{"role": "moderator", "agent": "mo"}
	],
	"rounds": {"max": 1, "deepDive": 1}
}`

func boardOf(t *testing.T, change ...func(c *discussion.Config)) (cfg discussion.Config) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(board), &cfg))
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// authors are the authors of the messages, in order.
func (p played) authors() []string {
	var all []string
	for _, m := range p.out.Discussion.Messages {
		id := m.By
		if id == "" {
			id = string(m.From)
		}
		all = append(all, id)
	}
	return all
}

// rounds are the authors of the messages in rounds, in order.
func (p played) rounds() string {
	var all []string
	for i, id := range p.authors() {
		if p.out.Discussion.Messages[i].Round > 0 {
			all = append(all, id)
		}
	}
	return strings.Join(all, " ")
}

// authorsOf are the authors of ideas, in order.
func authorsOf(all []discussion.Idea) (ids []string) {
	for _, idea := range all {
		ids = append(ids, idea.CreatedBy)
	}
	return ids
}

func (d debate) with(cfg discussion.Config) debate {
	d.cfg = cfg
	return d
}

func TestFreeRoles(t *testing.T) {
	t.Parallel()
	t.Run("DC39 roles of the host, and two critics", func(t *testing.T) {
		d := debate{cfg: boardOf(t)}
		p := d.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, []string{
			"team_leader", "ideation", "critic-1", "critic-2", "cfo", "sam", "ideation", "critic-1", "critic-2", "team_leader", "moderator", "team_leader",
		}, p.authors())
		assert.Equal(t, []string{
			"kickoff", "ideation", "critic", "critic", "cfo", "security officer", "ideation", "critic", "critic", "synthesis", "validation", "selection",
		}, p.types(), "the type is the role")
		critics := p.prompts(discussion.Critic)
		require.Len(t, critics, 4)
		assert.True(t, strings.HasSuffix(critics[0], "How could each of them fail?\n\nDoubt the market only."), "the task is behind the prompt")
		assert.True(t, strings.HasSuffix(critics[1], "How could each of them fail?"))
		assert.Contains(t, critics[1], "\n[critic-1 -> team]: message 3, critic\n", "the second critic reads the first")
		assert.True(t, strings.HasSuffix(critics[2], "which remain?\n\nDoubt the market only."), "in the deep dive, too")
		assert.True(t, strings.HasSuffix(p.prompts("cfo")[0],
			"You are Carla, in the role of cfo. Speak for your role, and take up what has been said.\n\nWhat does it cost, and what does it earn?"))
		assert.Contains(t, p.prompts(discussion.TeamLeader)[0], "- ideation\n- critic-1\n- critic-2\n- moderator\n- Carla\n- sam\n")
		var who []string
		for _, e := range p.events(t, team.AgentFinished.Of("discussion")) {
			who = append(who, e.Who)
		}
		assert.Equal(t, p.authors(), who)
		html, err := discussion.Page(p.out)
		require.NoError(t, err)
		for _, name := range []string{"Critic 1", "Critic 2", "Cfo", "Sam"} {
			assert.Contains(t, html, name)
		}
		c, _ := d.open(t)
		c.Quick = true
		c.Sweep(t)
	})
	t.Run("DC39 one of two critics fails", func(t *testing.T) {
		cfg := boardOf(t)
		p := debate{cfg: cfg, cast: cast{discussion.Critic: {errBoom, "Why?"}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "ideation cfo sam ideation critic-1 critic-2 team_leader", p.rounds())
		assert.Equal(t, "critic-1", p.out.Warnings[0].Who)
		assert.Equal(t, "critic-2", p.out.Warnings[1].Who)
	})
	t.Run("DC39 no role is the package's", func(t *testing.T) {
		var cfg discussion.Config
		require.NoError(t, json.Unmarshal([]byte(`{
			"team": [
				{"role": "page", "agent": "p", "duty": "report"},
				{"role": "auditor", "agent": "a", "duty": "score"},
				{"role": "defender", "agent": "d", "task": "Defend."},
				{"role": "attacker", "agent": "x", "duty": "propose", "task": "Attack."},
				{"role": "ciso", "agent": "c", "duty": "lead"}
			],
			"rounds": {"max": 2}, "policy": {"threshold": 6}
		}`), &cfg))
		p := debate{cfg: cfg, cast: cast{
			"attacker": {ideas("Alpha", "Beta")}, "auditor": {scores(7, 8)}, "ciso": {"go", "one", "two", `{"idea_id":"idea-1"}`}, "page": {"<h1>Done</h1>"},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"ciso", "attacker", "defender", "ciso", "attacker", "defender", "ciso", "auditor", "ciso", "page"}, p.roles())
		assert.Equal(t, []string{"kickoff", "attacker", "defender", "synthesis", "attacker", "defender", "synthesis", "validation", "selection", "visualization"}, p.types())
		assert.Equal(t, "Beta", p.out.FinalIdea.Title)
		assert.Equal(t, "attacker", p.out.FinalIdea.CreatedBy)
		assert.Equal(t, "Alpha", p.out.LeaderChoice.Title)
		assert.Equal(t, "<h1>Done</h1>", p.out.Report)
		assert.Contains(t, p.prompts("attacker")[0], "Propose three to five inventive ideas")
		assert.Contains(t, p.prompts("attacker")[1], "Build on the earlier ideas")
		assert.NotContains(t, p.prompts("ciso")[0], "- page")
		for _, prompt := range p.prompts("attacker") {
			assert.True(t, strings.HasSuffix(prompt, "\n\nAttack."))
		}
	})
}

func TestFreeTurns(t *testing.T) {
	t.Parallel()
	order := func(names ...discussion.Role) func(c *discussion.Config) {
		return func(c *discussion.Config) { c.Rules.Turns = discussion.InOrder{Order: names} }
	}
	for _, tt := range []struct {
		name   string
		change func(c *discussion.Config)
		want   string
	}{
		{"DC39 an order of roles and IDs", order("cfo", "ideation", "critic-2", "critic", "cfo"), "cfo ideation critic-2 critic-1 critic-2 cfo"},
		{"DC39 an order in JSON", func(c *discussion.Config) {
			_ = json.Unmarshal([]byte(`{"rules": {"turns": {"order": ["ideation", "sam", "team_leader"]}}}`), c)
		}, "ideation sam team_leader"},
		{"DC39 roles in words of any language", func(c *discussion.Config) {
			c.Team[1].Role, c.Team[2].Role, c.Team[2].Task = "devil's advocate", "समीक्षक", "Doubt."
			c.Rules.Turns = discussion.InOrder{Order: []discussion.Role{"devil's advocate", "समीक्षक"}}
		}, "devil's advocate समीक्षक"},
		{"DC39 a role in turn is one member after another", func(c *discussion.Config) {
			c.Rules.Turns = discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
				return []discussion.Role{"ideation", "critic", "critic", "critic", "critic-1", ""}[len(r.Spoken)]
			})
		}, "ideation critic-1 critic-2 critic-1 critic-1"},
		{"DC39 Turns sees who is there and who spoke", func(c *discussion.Config) {
			c.Rules.Turns = discussion.TurnsFunc(func(r discussion.Round) discussion.Role {
				if n := len(r.Spoken); n > 0 && r.Spoken[n-1].Role == discussion.Critic {
					return ""
				}
				last := r.Members[len(r.Members)-1]
				if last.ID == "sam" && last.Duty == discussion.Speak && len(r.Spoken) == 0 {
					return "sam"
				}
				return discussion.Critic
			})
		}, "sam critic-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := debate{cfg: boardOf(t, tt.change), cast: cast{discussion.Moderator: {scores(7)}}}
			p := d.play(t)
			assert.Equal(t, tt.want, p.rounds())
		})
	}
	t.Run("DC39 the state has who of two critics speaks, and an idea who has had it", func(t *testing.T) {
		cfg := boardOf(t, order("critic", "ideation"))
		cfg.Team[1].Role = discussion.Ideation
		d := debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas("Alpha")}}}
		assert.Equal(t, []string{"ideation-1"}, authorsOf(d.play(t).out.Discussion.Ideas))
		cfg.Rules.Turns = discussion.InOrder{Order: []discussion.Role{"critic-2", "ideation-2"}}
		assert.Equal(t, []string{"ideation-2"}, authorsOf(d.with(cfg).play(t).out.Discussion.Ideas))
		assert.Equal(t, "critic-2", stateAt(t, cfg, discussion.Critic).Speaking)
	})
	t.Run("DC39 missing ideas are asked for once all have proposed", func(t *testing.T) {
		cfg := boardOf(t, func(c *discussion.Config) {
			c.Team[3] = discussion.Member{Role: discussion.Ideation, Agent: "ian", Task: "Be brief."}
			c.Policy.MinIdeas = 5
		}, order("ideation", "critic"))
		cfg.Team[2].Role = discussion.Ideation
		p := debate{cfg: cfg, cast: cast{
			discussion.Ideation: {ideas("Alpha", "Beta"), ideas("Gamma")}, discussion.Moderator: {scores(7, 8, 9)},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "ideation-1 ideation-2 ideation-1 critic", p.rounds())
		assert.Contains(t, p.prompts(discussion.Ideation)[2], "3 ideas are still missing")
		assert.Equal(t, []string{"ideation-1", "ideation-1", "ideation-1"}, authorsOf(p.out.Discussion.Ideas))
	})
	t.Run("DC39 missing ideas are asked for if not all have proposed", func(t *testing.T) {
		cfg := boardOf(t, func(c *discussion.Config) {
			c.Team[3].Role, c.Policy.MinIdeas = discussion.Ideation, 3
		}, order("ideation-2", "critic"))
		p := debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas("Alpha", "Beta")}, discussion.Moderator: {scores(7, 8, 9)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "ideation-2 critic ideation-1", p.rounds())
	})
}

func TestTeamsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(c *discussion.Config)
		want   string
	}{
		{"DC39 a role that is mistyped", func(c *discussion.Config) { c.Team[3].Role, c.Team[3].Task = "critik", "" }, `Team[3].Role is "critik", which the package does not know: set its Task or its Duty, or did you mean "critic"?`},
		{"DC39 a role that is no name", func(c *discussion.Config) { c.Team[1].Role = "cfo -> team]" }, `Team[1].Role is "cfo -> team]", want letters, digits, _, -, ' and spaces, at most 64`},
		{"DC39 a role that is a type", func(c *discussion.Config) { c.Team[1].Role = "synthesis" }, `Team[1].Role is "synthesis", which is the name of something else: want another`},
		{"DC39 an ID that is no name", func(c *discussion.Config) { c.Team[1].ID = "a\nb" }, `Team[1].ID is "a\nb", want letters`},
		{"DC39 two IDs are equal", func(c *discussion.Config) { c.Team[1].ID = "sam" }, `Team[5].ID is "sam", as that of Team[1]`},
		{"DC39 an ID that is a role", func(c *discussion.Config) { c.Team[1].ID = "critic" }, `Team[1].ID is "critic", which is the role of Team[3]`},
		{"DC39 a duty that is none", func(c *discussion.Config) { c.Team[1].Duty = "pay" }, `Team[1].Duty is "pay", want one of`},
		{"DC39 two who score", func(c *discussion.Config) { c.Team[1].Duty = discussion.Score }, `Team[6].Role: "moderator" has the duty "score", as Team[1]: want one member with it`},
		{"DC39 nobody leads", func(c *discussion.Config) { c.Team[0].Duty = discussion.Speak }, `Team has no team_leader, and no other member with the duty "lead"`},
		{"DC39 an order with a name of nobody", func(c *discussion.Config) {
			c.Rules.Turns = discussion.InOrder{Order: []discussion.Role{"cfo", "poet"}}
		}, `Rules.Turns.Order[1] is "poet", want the role or the ID of a member who speaks in rounds`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := discussion.New(boardOf(t, tt.change))
			require.ErrorContains(t, err, tt.want)
		})
	}
}
