package palette_test

import "testing"

// passwordPolicy is the resource of the password policy, as it is sent and read.
type passwordPolicy struct {
	ExpiryDurationInDays      int64  `json:"expiryDurationInDays,omitempty"`
	FirstReminderInDays       int64  `json:"firstReminderInDays,omitempty"`
	IsRegex                   bool   `json:"isRegex"`
	MinLength                 int64  `json:"minLength,omitempty"`
	MinNumOfBlockLetters      int64  `json:"minNumOfBlockLetters,omitempty"`
	MinNumOfDigits            int64  `json:"minNumOfDigits,omitempty"`
	MinNumOfSmallLetters      int64  `json:"minNumOfSmallLetters,omitempty"`
	MinNumOfSpecialCharacters int64  `json:"minNumOfSpecialCharacters,omitempty"`
	Regex                     string `json:"regex,omitempty"`
}

// noPolicyDrift refreshes the policy.
func (p *provider) noPolicyDrift(want passwordPolicy) {
	p.wire.t.Helper()
	var got passwordPolicy
	if p.must(get(p.tenant()+"/password/policy"), &got); got != want {
		p.wire.t.Errorf("the plan is not empty: %+v, want %+v", got, want)
	}
}

// The policy's whole life in Terraform: read before it is set, apply, change, destroy, which posts the defaults of Palette.
func TestPasswordPolicyResourceLife(t *testing.T) {
	w := start(t)
	w.plugin().noPolicyDrift(passwordPolicy{})
	for _, c := range []passwordPolicy{{ExpiryDurationInDays: 90, FirstReminderInDays: 5, MinLength: 20, MinNumOfDigits: 2},
		{ExpiryDurationInDays: 999, FirstReminderInDays: 5, IsRegex: true, Regex: "^[a-z ]{20,}$"},
		{ExpiryDurationInDays: 999, FirstReminderInDays: 5, MinLength: 6, MinNumOfBlockLetters: 1, MinNumOfDigits: 1,
			MinNumOfSmallLetters: 1, MinNumOfSpecialCharacters: 1}} {
		p := w.plugin()
		p.must(post(p.tenant()+"/password/policy", encoded(t, c), 204), nil)
		w.plugin().noPolicyDrift(c)
	}
	p := w.plugin()
	p.refused(post(p.tenant()+"/password/policy", `{"isRegex":true,"regex":"(?=.*[A-Z]).+","expiryDurationInDays":1}`, 204), 400,
		"InvalidRequest")
}
