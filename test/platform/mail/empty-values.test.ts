import { expect, test } from 'vitest'
import { locales } from '../../../src/kernel/index.ts'
import { renderMail } from '../../../src/platform/mail/render.ts'
import { mailTexts } from '../../harness/mails.ts'

const values = { inviter: 'Ann', workspace: 'Acme', role: 'Owner', days: '7', url: 'https://portal.example/' }

test.each(locales)('an invitation without a message has no empty paragraph: %s', (locale) => {
  const render = (message: string) =>
    renderMail(mailTexts, {
      to: 'b@demo.test',
      template: 'invitations.workspace-invitation',
      locale,
      values: { ...values, message },
    })
  const [empty, filled] = [render(''), render('welcome')]
  expect(empty.html).not.toMatch(/<p>\s*<\/p>/)
  expect(empty.text).not.toMatch(/\n{3}/)
  expect(filled.html.split('<p>')).toHaveLength(empty.html.split('<p>').length + 1)
})
