import { expect, test } from 'vitest'
import { inPackage } from '../../../src/config/env.ts'
import { locales } from '../../../src/kernel/index.ts'
import { renderMail } from '../../../src/platform/mail/render.ts'
import { readMailTexts } from '../../../src/platform/mail/templates.ts'

const texts = await readMailTexts(inPackage('assets/mails'))
const values = { inviter: 'Ann', workspace: 'Acme', role: 'Owner', days: '7', url: 'https://portal.example/' }

test.each(locales)('an invitation without a message has no empty paragraph: %s', (locale) => {
  const render = (message: string) =>
    renderMail(texts, {
      to: 'b@demo.test',
      template: 'workspace-invitation',
      locale,
      values: { ...values, message },
    })
  const [empty, filled] = [render(''), render('welcome')]
  expect(empty.html).not.toMatch(/<p>\s*<\/p>/)
  expect(empty.text).not.toMatch(/\n{3}/)
  expect(filled.html.split('<p>')).toHaveLength(empty.html.split('<p>').length + 1)
})
