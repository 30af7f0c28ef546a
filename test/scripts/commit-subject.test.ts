import { expect, test } from 'vitest'
import { subjectError } from '../../scripts/commit-subject.ts'

test.each([
  'feat(ledger): add a hold for withdrawals',
  'fix: answer 404 for a foreign wallet',
  'feat(client)!: remove the callback style',
  'refactor(gateway): embed the router',
  "Merge branch 'main' into topic",
])('%s is accepted', (subject) => {
  expect(subjectError(subject)).toBeNull()
})

test.each([
  ['added a hold', 'is not "type(scope): subject"'],
  ['wip: try something', 'is not "type(scope): subject"'],
  ['feat(Ledger): add a hold', 'is not "type(scope): subject"'],
  ['fix(ledger): fixed the hold', 'does not start with an imperative verb'],
  ['docs: adding a page', 'does not start with an imperative verb'],
  ['docs: add a page.', 'ends with a period'],
  [`docs: add ${'x'.repeat(70)}`, 'has 80 characters, 72 are allowed'],
])('%s is rejected', (subject, error) => {
  expect(subjectError(subject)).toBe(error)
})
