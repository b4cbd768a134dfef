-- purpose:   where a tenant has its fields: as a list when it is kept with its group, else as a record.
-- guarantee: pure.
-- defines:   LISTED, NAMED.
-- cost:      none.

-- include: usual
local LISTED = {virtual = T_VIRTUAL, start = T_START, finish = T_FINISH, epoch = T_EPOCH, vepoch = T_VEPOCH, served = T_SERVED,
  wa = T_WA, wc = T_WC, wp = T_WP, wf = T_WF}
local NAMED = {virtual = 'virtual', start = 'start', finish = 'finish', epoch = 'epoch', vepoch = 'vepoch', served = 'served',
  wa = 'wa', wc = 'wc', wp = 'wp', wf = 'wf'}
