-- A try is changed three times and must leave an index each time, so that its key is entered four times. With room for all of
-- them a page is neither split nor searched for entries that are over.
ALTER INDEX attempts_pkey SET (fillfactor = 30);
