import { Component, type ReactNode } from 'react'
import { t } from './i18n.ts'
import { Page } from './page.tsx'

/**
 * Shows an error in place of what failed. Without it, React would remove the whole application. Only a class can do that.
 */
export class Boundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children
    return (
      <Page title={t('kit.pageFailed')}>
        <div className="failure" role="alert">
          <p>{t('kit.unexpected')}</p>
          <button type="button" onClick={() => location.reload()}>
            {t('kit.reload')}
          </button>
        </div>
      </Page>
    )
  }
}
