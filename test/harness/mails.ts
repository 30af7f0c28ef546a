import { bankingDomains } from '../../src/banking/index.ts'
import { mailTextsOf } from '../../src/compose/catalogue.ts'
import { type AnyTemplate, mailTemplateNames } from '../../src/platform/mail/mailer.ts'

/** The mails of the gateway and of Portico's domains. */
export const mailTexts = await mailTextsOf(bankingDomains.map((each) => ({ ...each, source: each.name, isOurs: true })))

export const mailNames: readonly AnyTemplate[] = [
  ...mailTemplateNames,
  ...bankingDomains.flatMap(({ name, mails }) =>
    Object.keys(mails?.templates ?? {}).map((mail) => `${name}.${mail}` as const),
  ),
]
