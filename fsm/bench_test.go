package fsm_test

import "testing"

func BenchmarkNext(b *testing.B) {
	tab := newTable(b, departmentRules())
	b.ReportAllocs()
	for b.Loop() {
		tab.Next("specialists", "all_finished")
	}
}

func BenchmarkNextMiss(b *testing.B) {
	tab := newTable(b, departmentRules())
	b.ReportAllocs()
	for b.Loop() {
		tab.Next("assessing", "dependency_failed")
	}
}

func BenchmarkNextEveryCell(b *testing.B) {
	tab, def := newTable(b, departmentRules()), departmentRules()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tab.Next(def.States[i%len(def.States)], def.Rules[i%len(def.Rules)].On)
	}
}

func BenchmarkFire(b *testing.B) {
	tab := newTable(b, taskRules())
	machine := tab.Start(clock)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1024 == 0 { // keeps the history short
			machine = tab.Start(clock)
		}
		on := event("pause")
		if i%2 == 1 {
			on = "resume"
		}
		if _, err := machine.Fire(on, "", ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFireRefused(b *testing.B) {
	machine := newTable(b, taskRules()).Start(clock)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.Fire("resume", "", ""); err == nil {
			b.Fatal("no error")
		}
	}
}
