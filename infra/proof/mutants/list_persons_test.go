package mutants

const holding = "shared/ledger/person.go"

// ofPersons break what is shown of a person.
var ofPersons = []mutant{
	{"a person is told of one sale alone", "P11", ledgerTests, overFake + "^what_is_held_of_a_user_has_an_order", []edit{{holding,
		`case !held[i].isEmpty():`, `case !held[i].isEmpty() && i == 0:`}}},
	{"a person is told of another's refund", "P12", ledgerTests, overFake + "^what_is_held_of_a_user_is_found", []edit{{holding,
		`FilterExpression:          aws.String("#user = :user"),`, `FilterExpression:          aws.String("#user = :user OR #user <> :user"),`}}},
	{"a sale that cannot be read is left out without a word", "P19", ledgerTests, overFake + "^a_sale_that_cannot_be_read_hides", []edit{{holding,
		`asInternal(errors.Join(unreadable...))`, `asInternal(errors.Join(unreadable[:0]...))`}}},
}
