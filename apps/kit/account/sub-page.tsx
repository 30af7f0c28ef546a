import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { t } from '../i18n.ts'
import { Page } from '../page.tsx'

interface Props {
  title: string
  actions?: ReactNode
  children: ReactNode
}

/** A page below that of the security, with a link to it. */
export function SubPage({ title, actions, children }: Props) {
  return (
    <Page title={title} actions={actions}>
      <p className="account-screen-only">
        <Link href="/security">← {t('kit.security')}</Link>
      </p>
      {children}
    </Page>
  )
}
