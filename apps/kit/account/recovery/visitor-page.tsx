import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ViewSettings } from '../../frame.tsx'
import { t } from '../../i18n.ts'
import { Page } from '../../page.tsx'

/** A page for people who are not signed in. */
export function VisitorPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="visitor">
      <Page title={title}>
        {children}
        <p>
          <Link href="/">{t('recovery.toSignIn')}</Link>
        </p>
      </Page>
      <footer className="view-settings">
        <ViewSettings />
      </footer>
    </main>
  )
}

/** The page was opened without the link of the mail, or reloaded. */
export function WithoutToken() {
  return <p className="notice">{t('recovery.openLink')}</p>
}
