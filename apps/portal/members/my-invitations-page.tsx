import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { MyInvitations } from './my-invitations.tsx'

/** The invitations to the mail address of the user. */
export default function MyInvitationsPage() {
  return (
    <Page title={t('members.myInvitations')}>
      <MyInvitations />
    </Page>
  )
}
