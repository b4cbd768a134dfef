/** The secrets of the keys that tests use, by what they are for. */
export const SECRETS = {
  read: 'secret-of-the-reading-key-0001',
  operate: 'secret-of-the-operating-key-02',
  admin: 'secret-of-the-admin-key-000003',
  acme: 'secret-of-the-key-of-acme-0004',
  rival: 'secret-of-the-key-of-rival-005',
} as const;

/** Keys of every role, and two customers' that may do anything with their own. */
export const API_KEYS = [
  `reader:read:${SECRETS.read}`,
  `operator:operate:${SECRETS.operate}`,
  `boss:admin:${SECRETS.admin}`,
  `acme-key:admin:acme:${SECRETS.acme}`,
  `rival-key:admin:rival:${SECRETS.rival}`,
].join(',');
